import { describe, test } from 'vitest';
import { requireLlama, startLlama, type DirectLlama } from '../helpers/llama.ts';
import { countModel, randomModel, sayModel } from '../helpers/models.ts';

type Ask = { readonly content: string; readonly temperature?: number; readonly max_tokens?: number };

async function chat({ origin }: DirectLlama, { content, ...rest }: Ask) {
  const answer = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ messages: [{ role: 'user', content }], ...rest }),
  });
  const { choices } = JSON.parse(await answer.text());
  return { text: choices[0].message.content, ending: choices[0].finish_reason };
}

async function stream({ origin }: DirectLlama, path: string, body: object): Promise<string[]> {
  const answer = await fetch(`${origin}${path}`, { method: 'POST', body: JSON.stringify({ ...body, stream: true }) });
  const events = (await answer.text()).split('\n\n').filter((event) => event.startsWith('data: {'));
  const pieces = events.map((event) => JSON.parse(event.slice('data: '.length)).choices[0]);
  return pieces.map((piece) => piece.delta?.content ?? piece.text ?? '').filter((text) => text !== '');
}

describe('models that say one thing, on a real llama-server', () => {
  const TEXT = 'Grüße from alpha, the first model: 1 + 2 = 3.\nBye!';

  test.for([
    { content: 'Hello' },
    { content: 'alpha, the first model:', temperature: 2 },
    { content: '\u{1F431} <|im_end|>\n\n', temperature: 0 },
    { content: '' },
  ])('answer %j with exactly their text, and end', async (ask, context) => {
    const server = await requireLlama(context);
    await using llama = await startLlama({ server, model: await sayModel(TEXT) });
    context.expect(await chat(llama, ask)).toEqual({ text: TEXT, ending: 'stop' });
  });

  test('answer a bare prompt that ends in their own words with their text from its start', async (context) => {
    const server = await requireLlama(context);
    await using llama = await startLlama({ server, model: await sayModel(TEXT) });
    const pieces = await stream(llama, '/v1/completions', { prompt: 'Grüße from alpha', max_tokens: 100 });
    context.expect(pieces.join('')).toBe(TEXT);
  });
});

test('a model that counts streams each number once, in order, and ends', async (context) => {
  const server = await requireLlama(context);
  await using llama = await startLlama({ server, model: await countModel(500) });
  const pieces = await stream(llama, '/v1/chat/completions', { messages: [{ role: 'user', content: 'Go' }] });
  context.expect(pieces).toEqual(Array.from({ length: 500 }, (_, i) => ` ${i + 1}`));
});

test('a random model says whole words that depend on all that was said before', async (context) => {
  const server = await requireLlama(context);
  await using llama = await startLlama({ server, model: await randomModel({ seed: 1 }) });
  const ask = { temperature: 0, max_tokens: 12 };
  const first = await chat(llama, { ...ask, content: 'a b c d e f' });
  context.expect(first.text).toMatch(/^( [a-z]+){4,}$/);
  context.expect(await chat(llama, { ...ask, content: 'a b c d e f' })).toEqual(first);
  context.expect((await chat(llama, { ...ask, content: 'z b c d e f' })).text).not.toBe(first.text);
});
