import fc from 'fast-check';
import { test } from 'vitest';
import { controlPlane } from '../../../src/api/plane.ts';
import { RawClient } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { waitFor } from '../../helpers/wait-for.ts';
import { alpha, beta, deps, model, phases, stage } from '../api/scene.ts';
import { APP, BOSS, keysOf, TOKENS } from './scene.ts';

const TARGETS = ['/v1/admin/models', '/v1/admin/models/alpha'];

/** One more way to write a path, which some reader may take for the same. */
const disguise = fc.constantFrom<(path: string, at: number) => string>(
  (path, at) => escaped(path, at, false),
  (path, at) => escaped(path, at, true),
  (path, at) => escaped(escaped(path, at, false), at, false),
  (path, at) => inserted(path, at, '/'),
  (path, at) => inserted(path, at, '/.'),
  (path, at) => inserted(path, at, '/x/..'),
  (path, at) => inserted(path, at, '/%2e%2e/v1/admin'),
  (path, at) => inserted(path, at, ';a=b'),
  (path, at) => inserted(path, at, '%00'),
  (path) => path.replaceAll('/', '\\'),
  (path) => path.replaceAll('/', '%2F'),
  (path) => path.toUpperCase(),
  (path) => `/v1/models/..${path.slice(3)}`,
  (path) => `/health/../${path.slice(1)}`,
  (path) => `/upstream/..${path}`,
  (path) => `http://localhost${path}`,
  (path) => `http://localhost/v1/models/../..${path}`,
  (path) => `HTTP://x@localhost:3000${path}`,
  (path) => `/v1/models/${path}`,
  (path) => `${path}?x=/v1/models`,
  (path) => `/v1/models?/../${path}`,
  (path) => `/v1/models#/../${path}`,
);

const escaped = (path: string, at: number, upper: boolean): string => {
  const place = at % path.length;
  const hex = path.charCodeAt(place).toString(16).padStart(2, '0');
  return `${path.slice(0, place)}%${upper ? hex.toUpperCase() : hex}${path.slice(place + 1)}`;
};

/** Before one of its slashes. */
function inserted(path: string, at: number, text: string): string {
  const slashes = [...path.matchAll(/\//g)].map(({ index }) => index);
  const place = slashes[at % slashes.length] ?? 0;
  return path.slice(0, place) + text + path.slice(place);
}

test('however the path of the admin API is written, a client’s key does not open it, and nothing breaks', async ({
  expect,
  onTestFinished,
}) => {
  const view = () => stage([model(alpha, phases.awake), model(beta, phases.off)]);
  const plane = controlPlane(deps(view).deps);
  const rig = await openRig({ control: plane, door: { keys: keysOf(APP, BOSS) }, onTestFinished });
  const ask = async (path: string, token: string): Promise<string> => {
    const client = new RawClient(rig.port, onTestFinished);
    client.say(
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
    );
    await waitFor('the answer', () => client.closed);
    client.leave();
    return client.text;
  };
  for (const path of TARGETS) expect(await ask(path, TOKENS.boss)).toContain('runtime_state');
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...TARGETS),
      fc.array(fc.tuple(disguise, fc.nat(30)), { minLength: 0, maxLength: 3 }),
      async (target, ways) => {
        const path = ways.reduce((written, [way, at]) => way(written, at), target);
        const answer = await ask(path, TOKENS.app);
        expect(answer).toMatch(/^HTTP\/1\.1 [1-4]/);
        expect(answer).not.toContain('runtime_state');
      },
    ),
    { numRuns: 200 },
  );
});
