import type { StubSpec } from '../ports/stub-server.ts';

/** What the built-in engine says, in the shapes of the OpenAI API. Nothing here knows of sockets or time. */

export type StubRoute = 'chat' | 'completion';

/**
 * What a request can ask to go wrong with it, by `stub_fault` in its body. `error`: status 500. `hang`: no answer.
 * `reset`: the connection is reset before the answer. `break`: in the middle of it. `crash`: the whole engine goes down.
 * `deaf`: from now on only the health route answers.
 */
export const STUB_FAULTS = ['error', 'hang', 'reset', 'break', 'crash', 'deaf'] as const;
export type StubFault = (typeof STUB_FAULTS)[number];

/** What a request asks for, as far as the built-in engine looks at it. */
export type StubRequest = {
  readonly model: string | undefined;
  readonly stream: boolean;
  readonly maxTokens: number | undefined;
  readonly fault: StubFault | undefined;
  readonly inputs: number;
};

/** Undefined when the text is not a JSON object, or names a fault that there is none of. */
export function readStubRequest(text: string): StubRequest | undefined {
  const body = parsed(text);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
  const fields = new Map<string, unknown>(Object.entries(body));
  const model = fields.get('model');
  const fault = STUB_FAULTS.find((name) => name === fields.get('stub_fault'));
  if (fault === undefined && fields.has('stub_fault')) return undefined;
  const most = fields.get('max_tokens') ?? fields.get('max_completion_tokens');
  const input = fields.get('input');
  return {
    model: typeof model === 'string' ? model : undefined,
    stream: fields.get('stream') === true,
    maxTokens: typeof most === 'number' && most > 0 ? Math.floor(most) : undefined,
    fault,
    inputs: Array.isArray(input) ? input.length : 1,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type StubTokens = { readonly tokens: readonly string[]; readonly finish: 'stop' | 'length' };

/** Words with the blanks after them; the text starts over when more are wanted than it has. */
export function tokensFor(spec: Pick<StubSpec, 'text' | 'tokens'>, maxTokens: number | undefined): StubTokens {
  const words = spec.text.match(/\S+\s*|^\s+/g) ?? [spec.text];
  const wanted = spec.tokens ?? words.length;
  const count = Math.min(wanted, maxTokens ?? wanted);
  const tokens = Array.from({ length: count }, (_, at) => {
    const word = words[at % words.length] ?? '';
    return at < count - 1 && !/\s$/.test(word) ? `${word} ` : word;
  });
  return { tokens, finish: count < wanted ? 'length' : 'stop' };
}

const head = (route: StubRoute, model: string, part: string) => ({
  id: 'stub-0',
  object: route === 'chat' ? `chat.completion${part}` : 'text_completion',
  created: 0,
  model,
});

/** One event of a stream: a token, or its end. */
export function stubChunk(route: StubRoute, model: string, token: string | undefined, finish: string | null): string {
  const delta = token === undefined ? {} : { content: token };
  const choice = route === 'chat' ? { delta } : { text: token ?? '' };
  const body = { ...head(route, model, '.chunk'), choices: [{ index: 0, ...choice, finish_reason: finish }] };
  return `data: ${JSON.stringify(body)}\n\n`;
}

/** The event before the first token of a chat. */
export const stubOpening = (model: string): string =>
  `data: ${JSON.stringify({
    ...head('chat', model, '.chunk'),
    choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }],
  })}\n\n`;

/** A whole answer at once. */
export function stubAnswer(route: StubRoute, model: string, { tokens, finish }: StubTokens): object {
  const content = tokens.join('');
  const choice = route === 'chat' ? { message: { role: 'assistant', content } } : { text: content };
  return {
    ...head(route, model, ''),
    choices: [{ index: 0, ...choice, finish_reason: finish }],
    usage: { prompt_tokens: 1, completion_tokens: tokens.length, total_tokens: tokens.length + 1 },
  };
}

/** Vectors that differ from model to model and are always the same for one. */
export function stubEmbeddings(model: string, inputs: number): object {
  const embedding = Array.from({ length: 8 }, (_, at) => ((model.codePointAt(at % model.length) ?? 0) % 100) / 100);
  const data = Array.from({ length: inputs }, (_, index) => ({ object: 'embedding', index, embedding }));
  return { object: 'list', model, data, usage: { prompt_tokens: inputs, total_tokens: inputs } };
}

export const stubModels = (model: string): object => ({
  object: 'list',
  data: [{ id: model, object: 'model', created: 0, owned_by: 'catnap-stub' }],
});

export const stubError = (code: number, type: string, message: string): object => ({ error: { message, type, code } });
