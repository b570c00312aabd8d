import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { splitCommand } from '../../../src/config/split-command.ts';

describe('a command line is split as a shell would', () => {
  test.for<[string, string[]]>([
    ['my-server --port 8001', ['my-server', '--port', '8001']],
    ['  padded\t with \n blanks  ', ['padded', 'with', 'blanks']],
    [`'/opt/my server' "--name=two words"`, ['/opt/my server', '--name=two words']],
    [`a'b'"c"d`, ['abcd']],
    [`x '' ""`, ['x', '', '']],
    [String.raw`x a\ b "c\"d" 'e\f' "g\h"`, ['x', 'a b', 'c"d', String.raw`e\f`, String.raw`g\h`]],
    ['x a\\\nb "c\\\nd"', ['x', 'ab', 'cd']],
    ['x ${PORT} $HOME * ~', ['x', '${PORT}', '$HOME', '*', '~']],
  ])('%j', ([line, argv], { expect }) => {
    expect(splitCommand(line)).toEqual({ kind: 'split', argv });
  });

  test.for<[string, string]>([
    [`x 'open`, `has a ' that is never closed`],
    [`x "open`, `has a " that is never closed`],
    [String.raw`x "open\"`, `has a " that is never closed`],
    ['x \\', 'ends in a lone backslash'],
    ['   ', 'names no program'],
    [`'' x`, 'names no program'],
  ])('%j is refused', ([line, problem], { expect }) => {
    expect(splitCommand(line)).toEqual({ kind: 'bad', problem });
  });

  test('for any mix of quotes, blanks and backslashes, a real shell gets the same words', ({ expect }) => {
    const lines = fc.string({ unit: fc.constantFrom('a', 'b', ' ', "'", '"', '\\'), maxLength: 12 });
    fc.assert(
      fc.property(lines, (tail) => {
        const split = splitCommand(`x ${tail}`);
        const shell = spawnSync('sh', ['-c', `set -- x ${tail}\nprintf '%s\\n' "$#" "$@"`], { encoding: 'utf8' });
        if (split.kind === 'split') expect(`${split.argv.length}\n${split.argv.join('\n')}\n`).toBe(shell.stdout);
        // A backslash before the end of the script is the shell's own affair.
        else if (!split.problem.includes('backslash')) expect(shell.status).not.toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});
