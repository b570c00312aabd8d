import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { nearest } from '../../../src/config/nearest.ts';
import { combine, faultsIn, type OwnFlag } from '../../../src/engines/llama-flags.ts';
import { KnownFlags, parseHelp } from '../../../src/engines/llama-help.ts';

/** Part of what llama-server 0.7.0 prints. */
const HELP = readFileSync(new URL('../../fixtures/llama-server-help.txt', import.meta.url), 'utf8');

const known = parseHelp(HELP) ?? new KnownFlags([]);

const faults = (...extra: string[]): string[] => faultsIn(extra, known, nearest);

test('the help tells every spelling, what takes a value, and what was removed', ({ expect }) => {
  expect(known.find('-c')).toEqual({ names: ['-c', '--ctx-size'], takesValue: true, removed: undefined });
  expect(known.find('--no-webui')?.names).toEqual(['--ui', '--webui', '--no-ui', '--no-webui']);
  expect(known.find('--metrics')?.takesValue).toBe(false);
  expect(known.find('-ot')?.takesValue).toBe(true);
  expect(known.find('--kv-offload')?.takesValue).toBe(false);
  expect(known.find('--fim-qwen-1.5b-default')).toBeDefined();
  expect(known.find('--draft-max')?.removed).toBe('use --spec-draft-n-max or --spec-ngram-mod-n-max');
  expect(known.find('--no-mmap')).toBeUndefined();
  expect(known.find('-----')).toBeUndefined();
});

test('what is not the help of a llama-server says nothing', ({ expect }) => {
  expect(parseHelp('usage: srv [options]\n--port N   the port\n')).toBeUndefined();
  expect(parseHelp('')).toBeUndefined();
});

test('flags that the binary knows pass, with values that look like flags', ({ expect }) => {
  expect(faults('-c', '4096', '-fa', 'on', '--temp', '-1', '--ctx_size', '8', '-v')).toEqual([]);
  expect(faults('--chat-template-kwargs', '--not-a-flag')).toEqual([]);
});

test('a flag that another release knows is answered with how this one writes it', ({ expect }) => {
  expect(faults('--no-mmap')).toEqual(['--no-mmap is not known: write --load-mode none']);
  expect(faults('--mlock')).toEqual(['--mlock is not known: write --load-mode mlock']);
  const names = ['--model', '--host', '--port', '--no-mmap'];
  const older = new KnownFlags(names.map((name) => ({ names: [name], takesValue: false, removed: undefined })));
  expect(faultsIn(['--load-mode', 'none'], older, nearest)).toEqual(['--load-mode is not known: write --no-mmap']);
});

test('a typing error is answered with the nearest flag, and a removed flag with what its help says', ({ expect }) => {
  expect(faults('--metricz')).toEqual(['--metricz is not known: write --metrics']);
  expect(faults('--draft-max', '3')).toEqual([
    '--draft-max was removed: use --spec-draft-n-max or --spec-ngram-mod-n-max',
  ]);
  expect(faults('--quantum-leap')).toEqual(['--quantum-leap is not known']);
});

test('two words in one argument are answered with how to write them', ({ expect }) => {
  const advice = 'is not known: write "--ctx-size", "4096" as two arguments';
  expect(faults('--ctx-size 4096')).toEqual([`--ctx-size 4096 ${advice}`]);
  expect(faults('--ctx-size=4096')).toEqual([`--ctx-size=4096 ${advice}`]);
});

test('a flag without its value is found, at the end and before another flag', ({ expect }) => {
  expect(faults('-fa')).toEqual(['-fa needs a value']);
  expect(faults('-fa', '--metrics')).toEqual(['-fa needs a value']);
});

test('all faults are told at once', ({ expect }) => {
  expect(faults('--no-mmap', '-fa', '--model', '1')).toHaveLength(3);
});

test('what catnap must set itself is refused with the key to use, even when the help could not be had', ({
  expect,
}) => {
  for (const read of [known, undefined]) {
    expect(faultsIn(['-m', '/x.gguf'], read, nearest)).toEqual([
      '-m cannot be set here: set the key `model_path` of the model instead',
    ]);
    expect(faultsIn(['--ssl-key-file', 'x'], read, nearest)).toHaveLength(1);
  }
});

test('nothing is concluded from a help that could not be had', ({ expect }) => {
  expect(faultsIn(['--no-mmap', '-fa'], undefined, nearest)).toEqual([]);
});

const OWN: readonly OwnFlag[] = [
  { name: '--port', value: '1' },
  { name: '--ctx-size', value: '2048' },
  { name: '--no-ui', optional: true },
  { name: '--offline', optional: true, unless: ['--hf-repo'] },
  { name: '--log-colors', value: 'off', optional: true },
  { name: '--brand-new', optional: true },
];

test('the user wins under every spelling of a flag, and his arguments come last, as he wrote them', ({ expect }) => {
  expect(combine(OWN, ['-c', '99', '--ui'], known)).toEqual([
    ...['--port', '1', '--offline', '--log-colors', 'off'],
    ...['-c', '99', '--ui'],
  ]);
});

test('a value of the user that is spelled like a flag of ours drops nothing', ({ expect }) => {
  expect(combine(OWN, ['--chat-template-kwargs', '--unknown'], known)).toContain('--no-ui');
  expect(combine(OWN, ['-a', '--ctx-size'], known).filter((word) => word === '2048')).toEqual([]);
});

test('who names something on the network is not kept off it', ({ expect }) => {
  expect(combine(OWN, ['--hf-repo', 'a/b'], known)).not.toContain('--offline');
});

test('an optional flag is left out unless the binary is known to take it so', ({ expect }) => {
  expect(combine(OWN, [], known)).not.toContain('--brand-new');
  expect(combine(OWN, [], undefined)).toEqual(['--port', '1', '--ctx-size', '2048']);
  const colours = { names: ['--log-colors'], takesValue: false, removed: undefined };
  expect(combine(OWN, [], new KnownFlags([colours]))).toEqual(['--port', '1', '--ctx-size', '2048']);
});
