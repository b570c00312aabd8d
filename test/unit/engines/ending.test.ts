import { test } from 'vitest';
import { after } from '../../../src/core/kinds.ts';
import type { Done } from '../../../src/engines/driver.ts';
import { Ending, type EndingRules } from '../../../src/engines/ending.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';
import { ScriptedChild, ScriptedProcesses } from './scripted-ports.ts';

const RULES: EndingRules = { graceMs: 2_000, boundMs: 30_000, command: undefined };
const PORT = 8_001;

/** A process and its ending; it ends some time after its nth signal, and never by itself. */
function scene(rules: Partial<EndingRules> = {}, obeys: { nth: number; afterMs: number } = { nth: 99, afterMs: 0 }) {
  const clock = new VirtualClock();
  const child = new ScriptedChild(7);
  const processes = new ScriptedProcesses();
  const warnings: string[] = [];
  const sent: [string, number][] = [];
  child.onSignal = (name) => {
    sent.push([name, clock.now()]);
    if (sent.length === obeys.nth) clock.at(after(clock.now(), obeys.afterMs), () => child.exit(0));
  };
  const warned = (message: string): void => void warnings.push(message);
  const ending = new Ending(child, PORT, { ...RULES, ...rules }, { clock, processes, warned });
  const play = async (forMs = 60_000): Promise<Done | Error | undefined> => {
    let end: Done | Error | undefined;
    ending.run().then(
      (done) => (end = done),
      (error: unknown) => (end = error instanceof Error ? error : new Error(String(error))),
    );
    await clock.advance(forMs);
    return end;
  };
  return { clock, child, processes, warnings, sent, play };
}

test('a process that ends on the first SIGTERM gets no other signal', async ({ expect }) => {
  const { clock, child, sent, play } = scene({}, { nth: 1, afterMs: 33 });
  expect(await play()).toEqual({ actMs: 33, proofMs: 0 });
  expect(sent).toEqual([['SIGTERM', 0]]);
  expect(child.forgotten).toBe(1);
  expect(clock.pending).toBe(0);
});

test('one that drains for ever is asked a second time after the grace, which it takes for an order', async ({
  expect,
}) => {
  const { sent, play } = scene({}, { nth: 2, afterMs: 5 });
  expect(await play()).toEqual({ actMs: 2_005, proofMs: 0 });
  expect(sent).toEqual([
    ['SIGTERM', 0],
    ['SIGTERM', 2_000],
  ]);
});

test('one that ignores both is killed', async ({ expect }) => {
  const { sent, play } = scene();
  expect(await play()).toMatchObject({ actMs: 4_000 });
  expect(sent.slice(0, 3)).toEqual([
    ['SIGTERM', 0],
    ['SIGTERM', 2_000],
    ['SIGKILL', 4_000],
  ]);
});

test('the stop is not over while something that the process started lives', async ({ expect }) => {
  const { clock, child, sent, play } = scene({}, { nth: 1, afterMs: 10 });
  child.others = [8];
  clock.at(after(clock.now(), 700), () => (child.others = []));
  expect(await play()).toEqual({ actMs: 10, proofMs: 690 });
  expect(sent).toEqual([['SIGTERM', 0]]);
});

test('what outlives its leader is asked, asked again and killed like the leader itself', async ({ expect }) => {
  const { clock, child, sent, play } = scene();
  child.exit(1);
  child.others = [8, 9];
  clock.at(after(clock.now(), 4_100), () => (child.others = []));
  expect(await play()).toMatchObject({ actMs: 0 });
  expect(sent.slice(0, 3).map(([name]) => name)).toEqual(['SIGTERM', 'SIGTERM', 'SIGKILL']);
});

test('what is born while the group is killed is killed too', async ({ expect }) => {
  const { clock, child, sent, play } = scene();
  clock.at(after(clock.now(), 3_999), () => (child.others = [8]));
  clock.at(after(clock.now(), 4_500), () => (child.others = []));
  await play();
  expect(sent.filter(([name]) => name === 'SIGKILL').length).toBeGreaterThan(1);
});

test('the stop is not over before the port is free, and nobody is signalled for that', async ({ expect }) => {
  const { clock, processes, sent, play } = scene({}, { nth: 1, afterMs: 10 });
  processes.taken.add(PORT);
  clock.at(after(clock.now(), 5_000), () => processes.taken.delete(PORT));
  const end = await play();
  expect(end).toMatchObject({ actMs: 10 });
  expect(end).toHaveProperty('proofMs', expect.closeTo(4_990, -2));
  expect(sent).toEqual([['SIGTERM', 0]]);
});

test('a process that cannot be killed is named when the bound has passed, and killed at once the next time', async ({
  expect,
}) => {
  const { clock, child, sent, play } = scene();
  child.others = [8, 9];
  expect(await play()).toMatchObject({ message: 'still alive after SIGKILL: process 8, 9' });
  expect(child.forgotten).toBe(0);
  const before = sent.length;
  const from = clock.now();
  clock.at(after(from, 50), () => (child.others = []));
  expect(await play()).toMatchObject({ actMs: 0 });
  expect(sent[before]).toEqual(['SIGKILL', from]);
});

test('a port that never becomes free fails the stop, since somebody unknown may hold memory', async ({ expect }) => {
  const { processes, play } = scene({}, { nth: 1, afterMs: 10 });
  processes.taken.add(PORT);
  expect(await play()).toHaveProperty('message', expect.stringContaining(`port ${PORT} is still in use`));
});

test('a process that is gone already is neither signalled nor waited for', async ({ expect }) => {
  const { child, sent, play } = scene();
  child.exit(1);
  expect(await play()).toEqual({ actMs: 0, proofMs: 0 });
  expect(sent).toEqual([]);
});

test('a stop command takes the place of the first SIGTERM', async ({ expect }) => {
  const { clock, child, processes, sent, warnings, play } = scene({ command: ['docker', 'stop', 'box'] });
  clock.at(after(clock.now(), 300), () => child.exit(0));
  expect(await play()).toMatchObject({ actMs: 300 });
  expect(processes.asked).toEqual([['docker', 'stop', 'box']]);
  expect(sent).toEqual([]);
  expect(warnings).toEqual([]);
});

test('a stop command is run, too, when the process is gone and only its port is held, as by a container', async ({
  expect,
}) => {
  const { child, processes, sent, play } = scene({ command: ['docker', 'stop', 'box'] });
  child.exit(1);
  processes.taken.add(PORT);
  processes.answer = () => {
    processes.taken.delete(PORT);
    return { code: 0, output: '' };
  };
  expect(await play()).toEqual({ actMs: 0, proofMs: 0 });
  expect([processes.asked.length, sent]).toEqual([1, []]);
});

test('a stop command that fails is told, and SIGTERM follows without a wait', async ({ expect }) => {
  const { processes, sent, warnings, play } = scene({ command: ['docker', 'stop', 'box'] }, { nth: 1, afterMs: 10 });
  processes.answer = () => ({ code: 1, output: 'Error: No such container: box\n' });
  expect(await play()).toMatchObject({ actMs: 10 });
  expect(sent).toEqual([['SIGTERM', 0]]);
  expect(warnings).toEqual(['the stop command docker stop box ended with code 1: Error: No such container: box']);
});

test('a long grace leaves time to kill and to prove within the bound', async ({ expect }) => {
  const { sent, play } = scene({ graceMs: 600_000, boundMs: 9_000 });
  expect(await play()).toMatchObject({ actMs: 6_000 });
  expect(sent[2]).toEqual(['SIGKILL', 6_000]);
});

test('no grace means that asking and killing follow each other at once', async ({ expect }) => {
  const { sent, play } = scene({ graceMs: 0 });
  expect(await play()).toMatchObject({ actMs: 0 });
  expect(sent.map(([name]) => name).slice(0, 3)).toEqual(['SIGTERM', 'SIGTERM', 'SIGKILL']);
});
