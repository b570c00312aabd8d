import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { denied } from '../../../scripts/launch/checkout.mjs';
import { FAILED, Refusal } from '../../../scripts/launch/refusal.mjs';

const test = base.extend('root', async ({}, { onCleanup }) => {
  const root = mkdtempSync(join(tmpdir(), 'catnap-test-'));
  onCleanup(() => rmSync(root, { recursive: true }));
  return root;
});

const failure = (code: string, path: string): Error => Object.assign(new Error(`${code}: open`), { code, path });

test('whose checkout it is, is told to whoever may not write there', ({ expect, root }) => {
  const { uid } = statSync(root);
  const [place, stranger] = [join(root, '.cache'), uid + 1];
  const sentence = `${root} has to be set up, and user ${stranger} may not: EACCES: open. Run "npm run build" there as user ${uid}, who owns ${root}, or let user ${stranger} write to it.`;
  for (const error of [
    failure('EACCES', place),
    // As it comes from a folder that was to be replaced.
    new Refusal('dist cannot be replaced', FAILED, { cause: failure('EACCES', place) }),
  ])
    expect(denied(root, error, stranger)).toMatchObject({ message: sentence, exitCode: FAILED });
});

test('who owns it, and who has it on a medium that nobody can write to, is not sent to another user', ({
  expect,
  root,
}) => {
  const { uid } = statSync(root);
  const fix = `Make ${root} writable, and start again.`;
  expect(denied(root, failure('EACCES', join(root, '.cache')), uid)?.message).toMatch(`EACCES: open. ${fix}`);
  expect(denied(root, failure('EROFS', join(root, '.cache')), uid + 1)?.message).toMatch(`EROFS: open. ${fix}`);
});

test('nothing else is taken for it', ({ expect, root }) => {
  for (const error of [
    failure('ENOSPC', join(root, 'x')),
    new Error('no'),
    new Refusal('npm is offline', FAILED),
    'no',
  ])
    expect(denied(root, error, 1)).toBeUndefined();
});
