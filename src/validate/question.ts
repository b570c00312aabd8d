import type { Backend } from '../engines/driver.ts';
import type { EngineAnswer, EngineHttp } from '../ports/engine-http.ts';
import { answerIn, streamIn, type Answer } from './answers.ts';

const TOKENS = 64;
const STREAM_TOKENS = 16;
/** Long enough that an engine is in the middle of it when it sleeps. */
const OPEN_TOKENS = 512;
const SHOWN = 200;

/** Long enough that every layer has work with it, and open enough that a model can go on for a while. */
const PROMPT =
  'The lighthouse keeper wrote everything down. On Monday there was fog until noon, and two boats went out all the same. ' +
  'On Tuesday the wind turned to the north and a third boat, the one with the green sail, did not come back before dark. ' +
  'On Wednesday he counted the lamps along the harbour wall, as he did every week: eleven were lit and one was broken. ' +
  'Write down what happened on the days after that, in the order in which it happened, and do not leave out the weather.';

export type Asking = {
  readonly http: EngineHttp;
  readonly backend: Backend;
  readonly limitMs: number;
  readonly signal: AbortSignal;
};

/** One way to put the question. Those an engine does not understand are left behind for good. */
type Way = { readonly path: string; readonly json: Readonly<Record<string, unknown>> };

/** Asks one engine the same question again and again, in the way it understood first. */
export class Questioner {
  #way: Way | undefined;

  /** A whole answer, without chance. */
  async answer(asking: Asking): Promise<Answer> {
    let last = 'it offers no route that could be asked';
    for (const way of this.#way === undefined ? ways() : [this.#way]) {
      const said = await post(asking, way.path, way.json);
      if (said.kind !== 'answered') return { kind: 'none', why: failed(said, asking.limitMs) };
      if (said.status < 300) {
        const answer = answerIn(said.body);
        if (answer === undefined) return { kind: 'none', why: `what it answers cannot be read: ${shown(said.body)}` };
        this.#way = way;
        return answer;
      }
      last = failed(said, asking.limitMs);
      if (!NOT_SO.includes(said.status)) break;
    }
    return { kind: 'none', why: last };
  }

  /** Begins a long streamed answer; undefined where the model writes no text. */
  open(asking: Asking): OpenStream | undefined {
    const way = this.#way;
    if (way === undefined || way.path === EMBEDDINGS) return undefined;
    const { logprobs: _none, top_logprobs: _neither, ...plain } = way.json;
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    const lines: string[] = [];
    let open = true;
    const onLine = (line: string): void => {
      lines.push(line);
      if (line.startsWith('data:')) resolve();
    };
    const json = { ...plain, ignore_eos: true, max_tokens: OPEN_TOKENS, stream: true };
    const end = post(asking, way.path, json, onLine).then((said) => {
      open = false;
      resolve();
      if (said.kind !== 'answered' || said.status >= 300) return { wrong: failed(said, asking.limitMs) };
      const { text, ended } = streamIn(lines.join('\n'));
      return ended ? { text } : { wrong: 'it broke off before its end' };
    });
    return { begun, isOpen: () => open, end };
  }

  /** What is wrong with a streamed answer; undefined when it is as it should be, and where the model writes no text. */
  async stream(asking: Asking): Promise<string | undefined> {
    const way = this.#way;
    if (way === undefined || way.path === EMBEDDINGS) return undefined;
    const { logprobs: _none, top_logprobs: _neither, ...plain } = way.json;
    const said = await post(asking, way.path, { ...plain, max_tokens: STREAM_TOKENS, stream: true });
    if (said.kind !== 'answered' || said.status >= 300) return `no stream: ${failed(said, asking.limitMs)}`;
    const { text, ended } = streamIn(said.body);
    if (!ended) return 'a stream broke off before its end';
    return text.trim() === '' ? 'a stream had nothing in it' : undefined;
  }
}

/** A stream that is open. */
export type OpenStream = {
  /** Settles once a part of it has come, or none will. */
  readonly begun: Promise<void>;
  /** Whether it has not come to its end, as far as we know. */
  readonly isOpen: () => boolean;
  readonly end: Promise<{ readonly text: string } | { readonly wrong: string }>;
};

const EMBEDDINGS = '/v1/embeddings';

/** From the one that tells most to the one that every engine knows. */
function ways(): readonly Way[] {
  const plain = { max_tokens: TOKENS, temperature: 0, seed: 1 };
  // Whatever an engine remembers of the prompt changes the order of its additions.
  const rich = { ...plain, ignore_eos: true, cache_prompt: false };
  const chat = { messages: [{ role: 'user', content: PROMPT }] };
  const [completions, talks] = ['/v1/completions', '/v1/chat/completions'];
  return [
    { path: completions, json: { prompt: PROMPT, ...rich, logprobs: 2 } },
    { path: completions, json: { prompt: PROMPT, ...rich } },
    { path: completions, json: { prompt: PROMPT, ...plain } },
    { path: talks, json: { ...chat, ...rich, logprobs: true, top_logprobs: 2 } },
    { path: talks, json: { ...chat, ...plain } },
    { path: EMBEDDINGS, json: { input: PROMPT } },
  ];
}

function post(
  { http, backend, limitMs, signal }: Asking,
  path: string,
  json: object,
  onLine?: (line: string) => void,
): Promise<EngineAnswer> {
  const { origin, headers, servedName: model } = backend;
  const body = model === undefined ? json : { model, ...json };
  return http.call({ method: 'POST', url: origin + path, headers, json: body, limitMs, signal, onLine });
}

/** A server that does not offer this, or not with these words, says so with one of these. */
const NOT_SO: readonly number[] = [400, 404, 405, 415, 422, 500, 501];

function failed(answer: EngineAnswer, limitMs: number): string {
  switch (answer.kind) {
    case 'answered':
      return `status ${answer.status}: ${shown(answer.body)}`;
    case 'refused':
      return `the connection failed: ${answer.reason}`;
    case 'timeout':
      return `nothing within ${Math.round(limitMs / 1_000)} s`;
    default:
      return answer satisfies never;
  }
}

const shown = (body: string): string => {
  const text = body.replaceAll(/\s+/g, ' ').trim();
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}...`;
};
