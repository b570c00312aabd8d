import type { EngineAnswer } from '../ports/engine-http.ts';
import { DriverError } from './driver.ts';
import { failedCall, fieldOf } from './own-calls.ts';
import type { Sleeper } from './sleeper.ts';

type Adapter = { readonly name: string; readonly path: string };

/** LoRA adapters over a sleep: which there were, and that each is there and works afterwards. */
export class VllmAdapters {
  readonly #limitMs: number;
  /** Those that there were before the last sleep. */
  noted: readonly Adapter[] = [];

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  async note(sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    this.noted = await this.#listed(sleeper, signal);
  }

  /** After level 2 what an adapter holds is void even where its name is still listed. */
  async restore(level: 1 | 2, sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    if (this.noted.length === 0) return;
    const listed = await this.#listed(sleeper, signal);
    for (const adapter of this.noted) {
      const isThere = listed.some(({ name }) => name === adapter.name);
      if (!isThere || level === 2) await this.#load(adapter, isThere, sleeper, signal);
      await this.#prove(adapter, sleeper, signal);
    }
  }

  async #listed(sleeper: Sleeper, signal: AbortSignal): Promise<readonly Adapter[]> {
    const answer = await sleeper.call('/v1/models', { method: 'GET', limitMs: this.#limitMs, signal });
    const rows = fieldOf(answer, 'data');
    if (!Array.isArray(rows)) throw new DriverError(`vLLM does not list its adapters: ${failedCall(answer)}`);
    return rows.flatMap((row: unknown) => adapterOf(row));
  }

  async #load({ name, path }: Adapter, inPlace: boolean, sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    const json = { lora_name: name, lora_path: path, ...(inPlace && { load_inplace: true }) };
    let answer = await this.#post('/v1/load_lora_adapter', json, sleeper, signal);
    if (inPlace && status(answer) === 400) {
      // A version that cannot do it in place.
      await this.#post('/v1/unload_lora_adapter', { lora_name: name }, sleeper, signal);
      answer = await this.#post('/v1/load_lora_adapter', { lora_name: name, lora_path: path }, sleeper, signal);
    }
    if (status(answer) !== 200)
      throw new DriverError(`the adapter ${name} could not be loaded again: ${failedCall(answer)}`);
  }

  async #prove({ name }: Adapter, sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    const answer = await this.#post('/v1/completions', { model: name, prompt: 'a', max_tokens: 1 }, sleeper, signal);
    if (status(answer) !== 200) throw new DriverError(`the adapter ${name} does not answer: ${failedCall(answer)}`);
  }

  #post(path: string, json: unknown, sleeper: Sleeper, signal: AbortSignal): Promise<EngineAnswer> {
    return sleeper.call(path, { method: 'POST', json, limitMs: this.#limitMs, signal });
  }
}

const status = (answer: EngineAnswer): number | undefined => (answer.kind === 'answered' ? answer.status : undefined);

/** A row of `/v1/models` that has a parent is an adapter; its root is where it was loaded from. */
function adapterOf(row: unknown): Adapter[] {
  if (typeof row !== 'object' || row === null || !('id' in row) || !('parent' in row) || !('root' in row)) return [];
  const { id, parent, root } = row;
  return typeof id === 'string' && typeof parent === 'string' && typeof root === 'string'
    ? [{ name: id, path: root }]
    : [];
}
