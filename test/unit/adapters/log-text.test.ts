import { describe, test } from 'vitest';
import { LINE_LIMIT, LineSplitter, plainLine, plainLines } from '../../../src/adapters/log-text.ts';

const bytes = (text: string) => Buffer.from(text);

describe('a plain line', () => {
  test.for([
    ['colours', '\x1b[1;31mred\x1b[0m and \x1b[38:2::1:2:3mpink', 'red and pink'],
    ['a window title', '\x1b]0;llama server: loading\x07model', 'model'],
    ['a link', 'see \x1b]8;;http://example.com/a b\x1b\\this\x1b]8;;\x1b\\ page', 'see this page'],
    ['a title that never ends', 'model\x1b]0;loa', 'model'],
    ['a device string', '\x1bP1;2|abc\x1b\\model', 'model'],
    ['one-byte introducers', '\x9b31mred\x9d0;title\x9c!', 'red!'],
    ['cursor moves and charsets', '\x1b[?25l\x1b[2K\x1b(Bmodel\x1b=\x1b7', 'model'],
    ['other control characters', 'a\x00b\x08c\x07\x7f', 'abc'],
    ['a progress bar', '\r 10%|#\r 20%|##\r', ' 20%|##'],
    ['the line end of another system', 'model\r', 'model'],
    ['tabs are kept', 'a\tb  ', 'a\tb'],
  ] as const)('%s', ([, raw, plain], { expect }) => {
    expect(plainLine(raw)).toBe(plain);
  });

  test('is cut at the limit', ({ expect }) => {
    expect(plainLine('x'.repeat(LINE_LIMIT))).toBe('x'.repeat(LINE_LIMIT));
    expect(plainLine('x'.repeat(LINE_LIMIT + 1))).toBe(`${'x'.repeat(LINE_LIMIT)}…`);
  });

  test('lines that say nothing are left out', ({ expect }) => {
    expect(plainLines('a\n\n \x1b[0m \nb\n')).toEqual(['a', 'b']);
  });
});

describe('lines from pieces', () => {
  test('are the same however they are cut, characters of several bytes included', ({ expect }) => {
    const all = bytes('größe 日本\n\x1b[31mred\x1b[0m\nlast');
    for (let step = 1; step <= all.length; step += 1) {
      const splitter = new LineSplitter();
      const lines: string[] = [];
      for (let from = 0; from < all.length; from += step) lines.push(...splitter.push(all.subarray(from, from + step)));
      expect([...lines, ...splitter.flush()]).toEqual(['größe 日本', 'red', 'last']);
    }
  });

  test('survive bytes that are no text', ({ expect }) => {
    const splitter = new LineSplitter();
    expect(splitter.push(Buffer.from([0xff, 0x61, 0xc3, 0x0a, 0x62, 0x0a]))).toEqual(['\ufffda\ufffd', 'b']);
  });

  test('a line without end costs no memory', ({ expect }) => {
    const splitter = new LineSplitter();
    for (let piece = 0; piece < 1_000; piece += 1) expect(splitter.push(bytes('x'.repeat(10_000)))).toEqual([]);
    const [line] = splitter.push(bytes('\nnext\n'));
    expect(line).toHaveLength(LINE_LIMIT + 1);
    expect(splitter.flush()).toEqual([]);
  });

  test('of an endless progress bar the last state is shown', ({ expect }) => {
    const splitter = new LineSplitter();
    for (let percent = 0; percent <= 100; percent += 1) splitter.push(bytes(`\r${percent}% ${'#'.repeat(200)}`));
    expect(splitter.flush()).toEqual([`100% ${'#'.repeat(200)}`]);
  });
});
