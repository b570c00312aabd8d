import { basename, delimiter, dirname } from 'node:path';
import { runQuietly } from './child.mjs';

const LIMIT_MS = 15 * 60_000;

/**
 * Installs exactly what the lock file in `folder` says, with the npm that runs us or else the one on PATH, run by the Node that
 * will use it. No package's script runs. The flags say everything that a surrounding `npm start` or the user's settings might
 * turn another way.
 * @param {string} folder
 * @param {string} node
 * @param {AbortSignal} signal
 * @returns {Promise<{ok: boolean, output: string}>}
 */
export function npmCi(folder, node, signal) {
  const flags = [
    `--prefix=${folder}`,
    '--location=project',
    '--ignore-scripts',
    '--include=dev',
    '--include=optional',
    '--dry-run=false',
    '--package-lock-only=false',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    '--fetch-retry-mintimeout=1000',
    '--fetch-retry-maxtimeout=5000',
  ];
  const env = { ...process.env, PATH: [dirname(node), process.env['PATH']].join(delimiter) };
  return runQuietly([...npmCommand(node), 'ci', ...flags], { cwd: folder, env, signal, limitMs: LIMIT_MS });
}

/**
 * Other package managers set `npm_execpath` too, to their own program.
 * @param {string} node
 * @returns {[string, ...string[]]}
 */
function npmCommand(node) {
  const running = process.env['npm_execpath'];
  return running !== undefined && basename(running) === 'npm-cli.js' ? [node, running] : ['npm'];
}

/**
 * The line of npm's output that tells most about why it failed.
 * @param {string} output
 * @returns {string}
 */
export function whyNpmFailed(output) {
  const lines = output.split('\n').map((line) => line.replace(/^npm (?:error|ERR!)\s*/, '').trim());
  const telling = lines.find((line) =>
    /network|request to|Invalid|Missing|not found|denied|no space|ended by|ENOENT/i.test(line),
  );
  return telling ?? lines.find((line) => line !== '') ?? 'npm said nothing';
}
