import { describe, test } from 'vitest';
import { answerIn, streamIn, type Answer } from '../../../src/validate/answers.ts';
import { compare } from '../../../src/validate/compare.ts';

const said = (text: string): Answer => ({ kind: 'text', text, tokens: undefined, count: undefined });

/** Words with how far the next best was behind them. */
const steps = (...words: readonly (readonly [text: string, second?: string, gap?: number])[]): Answer => ({
  kind: 'text',
  text: words.map(([text]) => text).join(''),
  tokens: words.map(([text, second, gap]) => ({ text, second, gap })),
  count: words.length,
});

describe('reading an answer', () => {
  test('of the completions route, with the columns of old', ({ expect }) => {
    const logprobs = {
      tokens: ['a', ' b'],
      top_logprobs: [
        { a: -0.1, c: -2.1 },
        { ' b': -0.7, ' d': -0.72 },
      ],
    };
    const body = JSON.stringify({ choices: [{ text: 'a b', logprobs }], usage: { completion_tokens: 2 } });
    expect(answerIn(body)).toEqual({
      kind: 'text',
      text: 'a b',
      tokens: [
        { text: 'a', second: 'c', gap: 2 },
        { text: ' b', second: ' d', gap: expect.closeTo(0.02) },
      ],
      count: 2,
    });
  });

  test('of the chat route, with candidates at each step', ({ expect }) => {
    const content = [
      {
        token: 'a',
        logprob: -0.1,
        top_logprobs: [
          { token: 'a', logprob: -0.1 },
          { token: 'b', logprob: -1.1 },
        ],
      },
      {
        token: 'c',
        logprob: -3,
        top_logprobs: [
          { token: 'a', logprob: -0.1 },
          { token: 'b', logprob: -1.1 },
        ],
      },
    ];
    const body = JSON.stringify({ choices: [{ message: { content: 'ac' }, logprobs: { content } }] });
    expect(answerIn(body)).toEqual({
      kind: 'text',
      text: 'ac',
      tokens: [
        { text: 'a', second: 'b', gap: 1 },
        // Not the best one, so nothing is known of how near the choice was.
        { text: 'c', second: undefined, gap: undefined },
      ],
      count: 2,
    });
  });

  test('of a model that thinks aloud', ({ expect }) => {
    const body = JSON.stringify({ choices: [{ message: { reasoning_content: 'hm', content: null } }] });
    expect(answerIn(body)).toMatchObject({ text: 'hm', tokens: undefined });
  });

  test('of a model that gives vectors', ({ expect }) => {
    expect(answerIn('{"data":[{"embedding":[0.5,1]}]}')).toEqual({ kind: 'vector', values: [0.5, 1] });
  });

  test.for(['', 'null', '[]', '{', '{"choices":[]}', '{"data":[{"embedding":["a"]}]}'])(
    'none: %s',
    (body, { expect }) => {
      expect(answerIn(body)).toBe(undefined);
    },
  );

  test('a stream, to its end or not', ({ expect }) => {
    const event = (text: string) => `data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`;
    expect(streamIn(`: hello\n\n${event('a')}${event('b')}data: [DONE]\n\n`)).toEqual({ text: 'ab', ended: true });
    expect(streamIn(event('a') + event('b').slice(0, 20))).toEqual({ text: 'a', ended: false });
    expect(streamIn('data: {"choices":[{"text":"a"}]}\r\n\r\ndata: [DONE]\r\n\r\n')).toEqual({
      text: 'a',
      ended: true,
    });
  });
});

describe('comparing answers', () => {
  test.for<[string, Answer, Answer, unknown]>([
    ['the same text', said('a b'), said('a b'), { kind: 'match' }],
    ['another text', said('a b'), said('! !'), { kind: 'differs', how: '"a b" became "! !"' }],
    ['nothing', said('a b'), said(' \n'), { kind: 'empty' }],
    ['nothing from the start', said(''), said(''), { kind: 'empty' }],
    ['the same steps', steps(['a', 'b', 3]), steps(['a', 'b', 3]), { kind: 'match' }],
    [
      'a tie that went the other way, and all that comes of it',
      steps(['a', 'x', 3], ['b', 'c', 0.049], ['d', 'x', 4]),
      steps(['a', 'x', 3], ['c', 'b', 0.01], ['q', 'x', 4]),
      { kind: 'near', at: 1, gap: 0.049 },
    ],
    [
      'a tie in which a third one won',
      steps(['a', 'b', 0.01]),
      steps(['!', 'b', 0.01]),
      { kind: 'differs', how: 'at token 1, "a" became "!", though the next best was 0.01 nat behind' },
    ],
    [
      'no tie',
      steps(['a', 'b', 0.05]),
      steps(['b', 'a', 0.05]),
      { kind: 'differs', how: 'at token 1, "a" became "b", though the next best was 0.05 nat behind' },
    ],
    [
      'a step of which nothing is known',
      steps(['a']),
      steps(['b']),
      { kind: 'differs', how: 'at token 1, "a" became "b"' },
    ],
    [
      'an end too soon',
      steps(['a', 'x', 2], ['b', 'x', 2]),
      steps(['a', 'x', 2]),
      {
        kind: 'differs',
        how: 'at token 2, "b" became the end, though the next best was 2.00 nat behind',
      },
    ],
    [
      'an end too late',
      steps(['a', 'x', 2]),
      steps(['a', 'x', 2], ['b', 'x', 2]),
      {
        kind: 'differs',
        how: 'it went on for 1 tokens more',
      },
    ],
    ['no answer', said('a'), { kind: 'none', why: 'status 500' }, { kind: 'none', why: 'status 500' }],
    ['a vector', { kind: 'vector', values: [3, 4] }, { kind: 'vector', values: [3, 4.004] }, { kind: 'match' }],
    [
      'another vector',
      { kind: 'vector', values: [3, 4] },
      { kind: 'vector', values: [3, 4.1] },
      {
        kind: 'differs',
        how: 'the vector moved by 2.0 % of its length',
      },
    ],
    ['a vector of nothing', { kind: 'vector', values: [0, 0] }, { kind: 'vector', values: [0, 0] }, { kind: 'empty' }],
    [
      'text for a vector',
      { kind: 'vector', values: [3] },
      said('a'),
      {
        kind: 'differs',
        how: 'it was text on one side and a vector on the other',
      },
    ],
  ])('%s', ([, before, after, expected], { expect }) => {
    expect(compare(before, after)).toEqual(expected);
  });
});
