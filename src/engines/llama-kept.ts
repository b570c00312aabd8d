import { valueOf } from '../core/flags.ts';
import type { EngineId } from '../core/kinds.ts';
import type { CacheOf, Conversations } from '../ports/conversations.ts';
import type { OwnFlag } from './llama-flags.ts';
import type { Sleeper } from './sleeper.ts';

/** How long it may take to say whether it is at work at all; one that does not is not asked to save anything. */
const ALIVE_MS = 2_000;
const MOST_SLOTS = 1_024;

/**
 * What llama-server has read of conversations: saved slot by slot before its end, and given back after its start. Nothing of it
 * is ever wrong: what does not fit the next prompt is not used. Where it cannot be kept the reason is told and all else goes on.
 */
export class LlamaConversations {
  readonly #engine: EngineId;
  readonly #conversations: Conversations;
  /** What the running engine's are kept under; undefined: they are not. Another catnap has to know it. */
  key: string | undefined;
  #folder: string | undefined;
  /** Why nothing is kept; told once it is up. */
  #refusal: string | undefined;
  /** What one token takes on disk, by the file of the model. */
  #byFile: Promise<number | undefined> | undefined;
  /** The same as it was seen, which is known better. */
  #bySight: number | undefined;
  /** Whether its server was given up while it wrote, and may be at it still. */
  #mayWrite = false;

  constructor(engine: EngineId, conversations: Conversations) {
    this.#engine = engine;
    this.#conversations = conversations;
  }

  /** The flags it takes; none when nothing can be kept. */
  async flags(modelFile: string, extra: readonly string[]): Promise<OwnFlag[]> {
    this.key = undefined;
    this.#refusal = await this.#whyNot(modelFile, extra);
    if (this.#refusal !== undefined) return [];
    try {
      const folder = await this.#conversations.folder(this.#engine);
      this.#folder = folder;
      return [
        { name: '--slot-save-path', value: folder },
        // Else a slot that is idle is emptied, and its save is empty too.
        { name: '--no-cache-idle-slots', optional: true, unless: ['--cache-idle-slots'] },
      ];
    } catch (error) {
      this.#refusal = error instanceof Error ? error.message : String(error);
      return [];
    }
  }

  /** Told with what it is started, its port left out: what was read by another program or with other flags is of no use to it. */
  async launched(words: readonly string[]): Promise<void> {
    if (this.#refusal !== undefined) return;
    // What lies in the folder of what is kept changes from start to start, and a folder counts with what is in it.
    this.key = await this.#conversations.keyOf(words.filter((word) => word !== this.#folder));
    this.#bySight = undefined;
    this.#byFile = this.#conversations.bytesPerToken(cacheOf(words));
    this.#byFile.catch(() => {}); // whoever needs it is told
  }

  /** Before its end. Gives what went wrong, if something did. */
  async save(sleeper: Sleeper, signal: AbortSignal): Promise<string | undefined> {
    if (this.key === undefined) return undefined;
    try {
      const slots = await slotsOf(sleeper, signal);
      if (slots === undefined) return `${NOT_KEPT}: it does not answer`;
      // One that another catnap has started was not looked at here.
      this.#byFile ??= this.#conversations.bytesPerToken(cacheOf(sleeper.launched.argv));
      const byFile = await this.#byFile;
      const names: string[] = [];
      let written = 0;
      for (const [slot, read] of slots.entries()) {
        // What the first of them came to tells of the others.
        const toCome = slots.slice(slot).reduce((sum, tokens) => sum + tokens, 0) * (this.#bySight ?? byFile ?? 0);
        const lack =
          read > 0 ? await this.#conversations.room(this.#engine, { total: written + toCome, toCome }) : undefined;
        if (lack !== undefined) return await this.#giveUp(`${NOT_KEPT}: ${lack}`);
        const answer = await act('save', slot, sleeper, signal);
        if (typeof answer === 'string') {
          this.#mayWrite = true;
          return await this.#giveUp(`${NOT_KEPT}: ${answer}`);
        }
        this.#saw(answer);
        written += answer.bytes;
        if (answer.tokens > 0) names.push(nameOf(slot));
      }
      const why = await this.#conversations.keep(this.#engine, this.key, names);
      return why === undefined ? undefined : `${NOT_KEPT}: ${why}`;
    } catch (error) {
      return this.#giveUp(`${NOT_KEPT}: ${String(error)}`);
    }
  }

  /** After its start. Gives what went wrong, if something did. What was given back is kept no longer. */
  async restore(sleeper: Sleeper, signal: AbortSignal): Promise<string | undefined> {
    const key = this.key;
    if (key === undefined) return this.#refusal === undefined ? undefined : `keep_kv has no effect: ${this.#refusal}`;
    try {
      let trouble: string | undefined;
      for (const name of await this.#conversations.kept(this.#engine, key)) {
        const answer = await act('restore', slotIn(name), sleeper, signal);
        if (typeof answer !== 'string') this.#saw(answer);
        else trouble = `what ${sleeper.name} had read could not be given back to it: ${answer}`;
      }
      await this.#conversations.drop(this.#engine);
      return trouble;
    } catch (error) {
      return this.#giveUp(`what ${sleeper.name} had read could not be given back to it: ${String(error)}`);
    }
  }

  async ended(): Promise<void> {
    if (!this.#mayWrite) return;
    this.#mayWrite = false;
    await this.#conversations.drop(this.#engine).catch(() => undefined);
  }

  /** A few tokens more than there are cost little; too few would cost the disk. */
  #saw({ tokens, bytes }: Acted): void {
    if (tokens > 0 && bytes > 0) this.#bySight = Math.max(this.#bySight ?? 0, bytes / tokens);
  }

  async #whyNot(modelFile: string, extra: readonly string[]): Promise<string | undefined> {
    if (valueOf(extra, ['--slot-save-path']) !== undefined) return '`extra_args` sets --slot-save-path itself';
    // With it the whole of the attention is kept, and what it looks back at is saved.
    if (extra.includes('--swa-full')) return undefined;
    return this.#conversations.unfit(modelFile);
  }

  /** A part of a conversation is worth nothing, and nobody knows how far the server has come. */
  async #giveUp(reason: string): Promise<string> {
    await this.#conversations.drop(this.#engine).catch(() => undefined);
    return reason;
  }
}

const NOT_KEPT = 'what was read of the conversations is not kept';

const nameOf = (slot: number): string => `slot-${slot}.bin`;
const slotIn = (name: string): number => Number.parseInt(name.slice('slot-'.length), 10);

/** How many tokens each of its slots has read, as far as it says; undefined when it does no work any more. One that sleeps would wake to say so, and has forgotten all. */
async function slotsOf(sleeper: Sleeper, signal: AbortSignal): Promise<readonly number[] | undefined> {
  const props = await sleeper.call('/props', { method: 'GET', limitMs: ALIVE_MS, signal });
  if (props.kind !== 'answered') return undefined;
  if (/"is_sleeping":\s*true/.test(props.body)) return [];
  const works = await sleeper.call('/slots', { method: 'GET', limitMs: ALIVE_MS, signal });
  if (works.kind !== 'answered') return undefined;
  const slots = Math.min(Number(/"total_slots":\s*(\d+)/.exec(props.body)?.[1] ?? 0), MOST_SLOTS);
  const rows = listIn(works.body);
  return Array.from({ length: slots }, (_, slot) => tokensIn(rows[slot]));
}

function listIn(text: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}

/** Releases that do not say it are asked to save all the same, and looked at afterwards. */
function tokensIn(slot: unknown): number {
  const said = typeof slot === 'object' && slot !== null && 'n_prompt_tokens' in slot ? slot.n_prompt_tokens : 0;
  return typeof said === 'number' && said > 0 ? said : 0;
}

/** By its command line. */
const cacheOf = (words: readonly string[]): CacheOf => ({
  modelFile: valueOf(words, ['--model', '-m']) ?? '',
  typeK: valueOf(words, ['--cache-type-k', '-ctk']) ?? 'f16',
  typeV: valueOf(words, ['--cache-type-v', '-ctv']) ?? 'f16',
});

type Acted = { readonly tokens: number; readonly bytes: number };

/** How much was saved or given back, or why nothing was. */
async function act(
  what: 'save' | 'restore',
  slot: number,
  sleeper: Sleeper,
  signal: AbortSignal,
): Promise<Acted | string> {
  const path = `/slots/${slot}?action=${what}`;
  const json = { filename: nameOf(slot) };
  const answer = await sleeper.call(path, { method: 'POST', json, limitMs: Number.MAX_SAFE_INTEGER, signal });
  if (answer.kind === 'timeout') return 'it took too long';
  if (answer.kind === 'refused') return signal.aborted ? 'it took too long' : answer.reason;
  if (answer.status !== 200) return `it answered ${answer.status}: ${answer.body.slice(0, 200)}`;
  const told = (what: string): number => Number(new RegExp(`"n_(?:${what})":\\s*(\\d+)`).exec(answer.body)?.[1] ?? 0);
  return { tokens: told('saved|restored'), bytes: told('written|read') };
}
