/** One step of an answer, as far as the engine tells of its choice. */
export type Token = {
  readonly text: string;
  /** The second-best choice, and by how much the best was better, in nats. */
  readonly second: string | undefined;
  readonly gap: number | undefined;
};

export type Answer =
  | {
      readonly kind: 'text';
      readonly text: string;
      /** Undefined when the engine gives no probabilities. */
      readonly tokens: readonly Token[] | undefined;
      /** How many tokens it has, by the engine's count. */
      readonly count: number | undefined;
    }
  /** Of a model that writes no text. */
  | { readonly kind: 'vector'; readonly values: readonly number[] }
  | { readonly kind: 'none'; readonly why: string };

type Fields = Readonly<Record<string, unknown>>;

/** Reads an answer of one of the OpenAI API's shapes; undefined when it is none. */
export function answerIn(body: string): Answer | undefined {
  const said = fields(parsed(body));
  const [first] = rows(said['choices']);
  if (first !== undefined) return textAnswer(first, said);
  const [row] = rows(said['data']);
  const values = row?.['embedding'];
  return Array.isArray(values) && values.every((value) => typeof value === 'number')
    ? { kind: 'vector', values }
    : undefined;
}

function textAnswer(choice: Fields, said: Fields): Answer {
  const message = fields(choice['message']);
  // A model that thinks aloud may not have come to its answer yet; its thoughts are as good for comparing.
  const parts = [message['reasoning_content'] ?? message['reasoning'], message['content'] ?? choice['text']];
  const text = parts.filter((part) => typeof part === 'string').join('');
  const count = fields(said['usage'])['completion_tokens'];
  const tokens = tokensIn(fields(choice['logprobs']));
  return { kind: 'text', text, tokens, count: typeof count === 'number' ? count : tokens?.length };
}

/** Two shapes: a list of steps with their candidates, or the older columns. */
function tokensIn(logprobs: Fields): readonly Token[] | undefined {
  const steps = rows(logprobs['content']);
  if (steps.length > 0) {
    return steps.map((step) => {
      const candidates = rows(step['top_logprobs']).map((row) => [String(row['token']), row['logprob']] as const);
      return tokenOf(String(step['token']), candidates);
    });
  }
  const texts = logprobs['tokens'];
  if (!Array.isArray(texts) || texts.length === 0) return undefined;
  const tops = Array.isArray(logprobs['top_logprobs']) ? logprobs['top_logprobs'] : [];
  return texts.map((text: unknown, at) => tokenOf(String(text), Object.entries(fields(tops[at]))));
}

function tokenOf(text: string, candidates: readonly (readonly [string, unknown])[]): Token {
  const known = candidates.flatMap(([token, value]) => (typeof value === 'number' ? [{ token, value }] : []));
  const [best, second] = known.toSorted((a, b) => b.value - a.value);
  // Where the best candidate was not taken, chance was at work, and nothing can be said.
  if (best === undefined || second === undefined || best.token !== text)
    return { text, second: undefined, gap: undefined };
  return { text, second: second.token, gap: best.value - second.value };
}

/** What a stream of events said, and whether it came to its proper end. */
export function streamIn(body: string): { readonly text: string; readonly ended: boolean } {
  const events = body.split(/\r?\n/).flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trim()] : []));
  const text = events
    .map((event) => {
      const [choice = {}] = rows(fields(parsed(event))['choices']);
      const delta = fields(choice['delta']);
      return [delta['reasoning_content'] ?? delta['reasoning'], delta['content'] ?? choice['text']]
        .filter((part) => typeof part === 'string')
        .join('');
    })
    .join('');
  return { text, ended: events.at(-1) === '[DONE]' };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const fields = (value: unknown): Fields => (typeof value === 'object' && value !== null ? { ...value } : {});
const rows = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(fields) : []);
