import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { longTalk } from '../helpers/long-talk.ts';
import { waitFor } from '../helpers/wait-for.ts';
import {
  IMAGES,
  checkpointsOf,
  end,
  engine,
  killedAt,
  meddling,
  model,
  never,
  restored,
  save,
  say,
  started,
  storeIn,
  test,
} from './criu-scene.ts';

test('ten times to disk and back: the same process, the same answer, and nothing of the prompt is read again', async ({
  expect,
  scene,
}) => {
  expect(await scene.checkpoints.hindrance()).toBeUndefined();
  const on = await started(scene);
  const { pid } = on.child;
  const before = await say(on);
  for (let cycle = 0; cycle < 10; cycle += 1) {
    const checkpoint = await save(scene, on);
    expect(await on.child.members()).toEqual([]);
    expect(checkpoint.bytes).toBeGreaterThan(100_000);
    await restored(checkpoint, on);
    await checkpoint.drop();
    expect(on.child.pid).toBe(pid);
    expect(await say(on)).toEqual({ text: before.text, read: 1, cached: before.read - 1 });
  }
  expect(readdirSync(scene.images.folder)).toEqual([]);
  const mark = `CATNAP_ENGINE=${scene.processes.host.markOf(on.child)}`;
  expect(readFileSync(`/proc/${pid}/environ`, 'latin1')).toContain(mark);
  await end(on);
  await on.child.exited;
  expect(readdirSync(join(scene.folder, 'state/engines'))).toEqual([]);
  expect(scene.problems).toEqual([]);
});

test("what it works on while it goes to disk goes on where it was, and who left meanwhile is in nobody's way", async ({
  expect,
  scene,
}) => {
  await scene.checkpoints.hindrance();
  const on = await started(scene, (argv) => [
    argv[0],
    ...argv.slice(1).map((word) => (word === '2048' ? '16384' : word)),
  ]);
  const beginning = (await longTalk(on.port, 400).end).trimEnd();
  // They go on for longer than anybody looks.
  const [stays, leaves] = [longTalk(on.port, 8_000), longTalk(on.port, 8_000)];
  await waitFor('both to work', () => stays.said() !== '' && leaves.said() !== '');
  const checkpoint = await scene.checkpoints.save(on.child, { engine, model, port: on.port, open: true }, never);
  expect(await on.child.members()).toEqual([]);
  const said = stays.said().length;
  leaves.leave();
  await expect(leaves.end).rejects.toThrow('aborted');
  await restored(checkpoint, on);
  await waitFor('it to go on', () => stays.said().length > Math.max(said, beginning.length));
  expect(stays.said().startsWith(beginning)).toBe(true);
  stays.leave();
  await expect(stays.end).rejects.toThrow('aborted');
  await checkpoint.drop();
  await end(on);
});

test('a command of several processes goes to disk and comes back as all of them', async ({ expect, scene }) => {
  await scene.checkpoints.hindrance();
  // A shell that waits for two children, one of which is the server.
  const on = await started(scene, (argv) => [
    '/bin/sh',
    '-c',
    `sleep 600 & ${argv.map((word) => `'${word}'`).join(' ')} & wait`,
  ]);
  const everyone = (await on.child.everyone()).toSorted();
  expect(everyone).toHaveLength(3);
  const before = await say(on);
  const checkpoint = await save(scene, on);
  expect(await on.child.members()).toEqual([]);
  await restored(checkpoint, on);
  await checkpoint.drop();
  expect((await on.child.everyone()).filter((pid) => everyone.includes(pid)).toSorted()).toEqual(everyone);
  expect(await say(on)).toEqual({ text: before.text, read: 1, cached: before.read - 1 });
  await end(on);
});

test('its image is for nobody else to read, and its record names the process that came back', async ({
  expect,
  scene,
}) => {
  await scene.checkpoints.hindrance();
  const on = await started(scene);
  const checkpoint = await save(scene, on);
  const [name = ''] = readdirSync(scene.images.folder);
  expect(name).toMatch(/^alpha-0\./);
  for (const path of [scene.images.folder, join(scene.images.folder, name)])
    expect(statSync(path).mode & 0o777).toBe(0o700);
  const manifest = JSON.parse(readFileSync(join(scene.images.folder, name, 'catnap.json'), 'utf8'));
  expect(manifest).toMatchObject({ engine: 'alpha#0', model: 'alpha', pid: on.child.pid, port: on.port });

  await restored(checkpoint, on);
  const records = join(scene.folder, 'state/engines');
  const [record = ''] = readdirSync(records);
  const { leader } = JSON.parse(readFileSync(join(records, record), 'utf8'));
  const back = scene.processes.host.table?.look(on.child.pid);
  expect(leader).toEqual({ pid: on.child.pid, started: back?.started });
  await checkpoint.drop();
  await end(on);
});

test('its end after a return is noticed, and is not taken for a clean one', async ({ expect, scene }) => {
  await scene.checkpoints.hindrance();
  const on = await started(scene);
  const checkpoint = await save(scene, on);
  await restored(checkpoint, on);
  process.kill(on.child.pid, 'SIGSEGV');
  expect(await on.child.exited).toEqual({ code: null, signal: null });
  expect(await on.child.members()).toEqual([]);
  await checkpoint.drop();
  await on.child.forget();
});

test('a log that is due to be cut is cut only when the engine is back', async ({ scene }) => {
  await scene.checkpoints.hindrance();
  const on = await started(scene);
  const logs = join(scene.folder, 'state/logs');
  const log = join(logs, readdirSync(logs).find((name) => name.endsWith('.log')) ?? '');
  appendFileSync(log, `${'x'.repeat(99)}\n`.repeat(200));
  const checkpoint = await save(scene, on);
  await restored(checkpoint, on);
  await waitFor('the log to be cut', () => statSync(log).size < 20_000);
  const cut = statSync(log).size;
  await say(on);
  await waitFor('what it prints to be in the log', () => statSync(log).size > cut);
  await checkpoint.drop();
  await end(on);
});

test('a file that was removed while it is open leaves no name of its own behind, whatever becomes of the image', async ({
  expect,
  scene,
}) => {
  await scene.checkpoints.hindrance();
  const [from, to] = [join(scene.folder, 'removed'), join(scene.folder, 'elsewhere')];
  mkdirSync(from);
  const script = `exec 9>'${from}/one'; ln '${from}/one' '${to}'; rm '${from}/one'; exec "$0" "$@"`;
  const on = await started(scene, (argv) => ['/bin/sh', '-c', script, ...argv]);
  writeFileSync(join(from, 'link_remap.77'), 'of somebody else');

  const back = await save(scene, on);
  expect(readdirSync(from)).toHaveLength(2);
  await restored(back, on);
  await back.drop();
  expect(readdirSync(from)).toEqual(['link_remap.77']);
  expect((await say(on)).text).not.toBe('');

  const thrown = await save(scene, on);
  expect(readdirSync(from)).toHaveLength(2);
  await thrown.drop();
  expect([readdirSync(from), existsSync(to)]).toEqual([['link_remap.77'], true]);

  // What a catnap left that was killed is found by the next one.
  const again = await started(scene, (argv) => ['/bin/sh', '-c', script.replace('ln ', 'ln -f '), ...argv]);
  await save(scene, again);
  await scene.images.clear();
  expect(readdirSync(from)).toEqual(['link_remap.77']);
});

test('where its port was taken it is not brought back', async ({ expect, scene }) => {
  await scene.checkpoints.hindrance();
  const on = await started(scene);
  const checkpoint = await save(scene, on);
  const listener = createServer().listen(on.port, '127.0.0.1');
  await once(listener, 'listening');
  await expect(checkpoint.restore(never)).rejects.toThrow(
    `port ${on.port}, which it listens on, is in use by another program`,
  );
  listener.close();
  await once(listener, 'close');
  await restored(checkpoint, on);
  await checkpoint.drop();
  await end(on);
});

test('where a process number of its was taken it is not brought back, and who has it is told', async ({
  expect,
  scene,
}) => {
  // As if a thread of it had had the number that we have.
  const script = `${IMAGES}; '${scene.criu}' "$@" && echo > "$images/core-${process.pid}.img"; exit`;
  const checkpoints = meddling(scene, 'dump', script);
  await checkpoints.hindrance();
  const on = await started(scene);
  const checkpoint = await save({ checkpoints }, on);
  await expect(checkpoint.restore(never)).rejects.toThrow(
    `process number ${process.pid}, which it must have again, is in use: ${process.execPath}`,
  );
  await checkpoint.drop();
  await end(on);
});

test('an image that somebody changed is never restored', async ({ expect, scene }) => {
  await scene.checkpoints.hindrance();
  const on = await started(scene);
  const checkpoint = await save(scene, on);
  const [name = ''] = readdirSync(scene.images.folder);
  truncateSync(join(scene.images.folder, name, 'pages-1.img'), 4_096);
  await expect(checkpoint.restore(never)).rejects.toThrow(`${name} was changed or removed by somebody`);
  await checkpoint.drop();
  await end(on);
});

test('an engine whose image does not fit is told to, before anything is done, and serves on', async ({
  expect,
  scene,
}) => {
  await scene.checkpoints.hindrance();
  const on = await started(scene);
  const small = storeIn(scene.images.folder, scene.processes, 1_048_576);
  const checkpoints = checkpointsOf(scene.criu, small, scene.processes);
  expect(await checkpoints.hindrance()).toBeUndefined();
  await expect(save({ checkpoints }, on)).rejects.toThrow(
    /^its image takes about \d+ MiB, and of checkpoint\.images_max_mib \(1 MiB\) 0 MiB are taken$/,
  );
  expect(readdirSync(scene.images.folder)).toEqual([]);
  expect((await say(on)).read).toBeGreaterThan(1);
  await end(on);
});

test('a dump that meets a full disk fails with that, leaves nothing on it, and the engine serves on', async ({
  expect,
  scene,
}) => {
  const checkpoints = meddling(scene, 'dump', `trap '' XFSZ; ulimit -f 1000; exec '${scene.criu}' "$@"`);
  expect(await checkpoints.hindrance()).toBeUndefined();
  const on = await started(scene);
  await expect(save({ checkpoints }, on)).rejects.toThrow(
    /^it could not be written to disk: there is no room for the image: .*File too large/,
  );
  expect(readdirSync(scene.images.folder)).toEqual([]);
  expect((await say(on)).read).toBeGreaterThan(1);
  await end(on);
});

test('a dump that is called off ends criu, and what is left can be ended', async ({ expect, scene }) => {
  const checkpoints = meddling(scene, 'dump', `echo > '${scene.folder}/began'; exec sleep 600`);
  await checkpoints.hindrance();
  const on = await started(scene);
  const over = new AbortController();
  const saving = save({ checkpoints }, on, over.signal);
  await waitFor('criu to begin', () => existsSync(join(scene.folder, 'began')));
  over.abort(new Error('superseded'));
  await expect(saving).rejects.toThrow(/superseded|criu was ended by SIGKILL/);
  await end(on);
});

test('when criu is killed in the middle of a dump nothing of the engine outlives its stop', async ({
  expect,
  scene,
}) => {
  const checkpoints = meddling(scene, 'dump', killedAt(scene, 'pages-1.img'));
  await checkpoints.hindrance();
  const on = await started(scene);
  await expect(save({ checkpoints }, on)).rejects.toThrow('it could not be written to disk: criu failed with code 137');
  await end(on);
  expect(readdirSync(scene.images.folder)).toEqual([]);
});

test('when criu is killed in the middle of a return nothing of the engine outlives its stop', async ({
  expect,
  scene,
}) => {
  // It is asked there: all processes are back, and none of them runs yet.
  const hook = join(scene.folder, 'hook');
  writeFileSync(hook, `#!/bin/sh\n[ "$CRTOOLS_SCRIPT_ACTION" != post-restore ] || kill -KILL $PPID\n`, { mode: 0o755 });
  const checkpoints = meddling(scene, 'restore', `exec '${scene.criu}' "$@" --action-script '${hook}'`);
  await checkpoints.hindrance();
  const on = await started(scene);
  const checkpoint = await save({ checkpoints }, on);
  await expect(restored(checkpoint, on)).rejects.toThrow('it could not be brought back from disk: criu was killed');
  await end(on);
  await checkpoint.drop();
  expect(readdirSync(scene.images.folder)).toEqual([]);
});
