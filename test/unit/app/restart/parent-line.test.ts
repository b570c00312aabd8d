import { test } from 'vitest';
import type { BareSocket, Forked, ForkedEnd } from '../../../../src/adapters/ipc.ts';
import { ChildLine } from '../../../../src/app/restart/child-line.ts';
import { ParentLine } from '../../../../src/app/restart/parent-line.ts';
import { PROTOCOL, type Line } from '../../../../src/app/restart/said.ts';

type Hears = (message: unknown, socket?: BareSocket) => void;

/** The first catnap and those that it makes, with what each has heard. */
class Family {
  readonly children: { readonly line: ChildLine; readonly end: (how: ForkedEnd) => void; readonly killed: string[] }[] =
    [];
  readonly heard: string[] = [];
  hasRoom = true;
  readonly parent = new ParentLine(() => this.#fork());

  constructor() {
    this.#listen('first', this.parent);
  }

  #listen(name: string, line: Line): void {
    line.hear((from, said, socket) => {
      this.heard.push(`${name}: ${said.kind} from ${from}${socket === undefined ? '' : ' with a socket'}`);
    });
  }

  /** Two ends of a channel. What is said is heard at once. */
  #fork(): Forked {
    if (!this.hasRoom) throw new Error('spawn ENOMEM');
    let [inParent, inChild]: [Hears, Hears] = [() => {}, () => {}];
    const ended = Promise.withResolvers<ForkedEnd>();
    const killed: string[] = [];
    const name = `child ${this.children.length + 1}`;
    const line = new ChildLine({
      send: async (message, socket) => inParent(JSON.parse(JSON.stringify(message)), socket),
      hear: (listener) => (inChild = listener),
      close: () => {},
    });
    this.children.push({ line, end: ended.resolve, killed });
    this.#listen(name, line);
    return {
      pid: 100,
      ended: ended.promise,
      signal: (signal) => void killed.push(signal),
      send: async (message, socket) => inChild(JSON.parse(JSON.stringify(message)), socket),
      hear: (listener) => (inParent = listener),
      close: () => {},
    };
  }

  child(number: number): (typeof this.children)[number] {
    const child = this.children[number - 1];
    if (child === undefined) throw new Error(`there is no child ${number}`);
    return child;
  }

  takeHeard(): string[] {
    return this.heard.splice(0);
  }
}

const READY = { kind: 'ready', protocol: PROTOCOL, version: '1.2.4' } as const;
const OVER = { code: 0, signal: null };
const socket = (): BareSocket & { closed: boolean } => ({
  closed: false,
  close() {
    this.closed = true;
  },
});

test('each hears of the one before and the one after, whoever made it', async ({ expect }) => {
  const family = new Family();
  const { parent } = family;
  parent.begin();
  await family.child(1).line.send('before', READY);
  await parent.send('after', { kind: 'socket', port: 'main' }, socket());
  expect(parent.child).toBeUndefined();
  await family.child(1).line.send('before', { kind: 'taken' });
  expect(parent.child).toBeDefined();
  expect(family.takeHeard()).toEqual([
    'first: ready from after',
    'child 1: socket from before with a socket',
    'first: taken from after',
  ]);

  // Nobody comes while the first still serves what was open.
  family.child(1).line.begin();
  expect(family.children).toHaveLength(1);
  await parent.send('after', { kind: 'settled', ticket: 3 as never });
  parent.leave();
  expect(family.takeHeard()).toEqual([
    'child 1: gone from after',
    'child 1: settled from before',
    'child 1: gone from before',
  ]);

  // The second is made by the first, at the request of the one that serves; a socket that is passed on is not kept.
  family.child(1).line.begin();
  await family.child(2).line.send('before', READY);
  const passed = socket();
  await family.child(1).line.send('after', { kind: 'socket', port: 'main' }, passed);
  await expect.poll(() => passed.closed).toBe(true);
  await family.child(2).line.send('before', { kind: 'taken' });
  await family
    .child(2)
    .line.send('before', { kind: 'cut', tickets: [], code: 'drained', reason: '', mayReturn: false });
  family.child(1).end(OVER);
  await expect
    .poll(() => family.heard)
    .toEqual([
      'child 1: ready from after',
      'child 2: socket from before with a socket',
      'child 1: taken from after',
      'child 1: cut from after',
      'child 2: gone from before',
    ]);
  family.child(2).end({ code: null, signal: 'SIGKILL' });
  expect(await parent.ended).toEqual({ code: null, signal: 'SIGKILL' });
});

test('one that was to come and has ended leaves all as it was', async ({ expect }) => {
  const family = new Family();
  family.parent.begin();
  family.parent.callOff();
  expect(family.child(1).killed).toEqual(['SIGKILL']);
  family.child(1).end({ code: null, signal: 'SIGKILL' });
  await expect.poll(() => family.heard).toEqual(['first: gone from after']);
  expect(family.parent.child).toBeUndefined();
  family.parent.begin();
  expect(family.children).toHaveLength(2);
});

test('one that is being ended cannot take over any more, and one that has taken over cannot be ended', async ({
  expect,
}) => {
  const family = new Family();
  family.parent.begin();
  const ending = family.parent.endComing();
  await family.child(1).line.send('before', { kind: 'taken' });
  expect(family.parent.child).toBeUndefined();
  family.child(1).end({ code: null, signal: 'SIGKILL' });
  await ending;
  expect(family.takeHeard()).toEqual(['first: gone from after']);

  family.parent.begin();
  await family.child(2).line.send('before', { kind: 'taken' });
  family.parent.callOff();
  expect(family.child(2).killed).toEqual([]);
  expect(family.takeHeard()).toEqual(['first: taken from after']);
});

test('where there is no room for another process it is told, and the first goes on', async ({ expect }) => {
  const family = new Family();
  family.hasRoom = false;
  family.parent.begin();
  await expect.poll(() => family.takeHeard()).toEqual(['first: gone from after']);
  family.hasRoom = true;
  family.parent.begin();
  await family.child(1).line.send('before', READY);
  expect(family.takeHeard()).toEqual(['first: ready from after']);
});

test('whoever has lost the first process has nobody beside it', ({ expect }) => {
  const family = new Family();
  family.parent.begin();
  const { line } = family.child(1);
  line.lost();
  expect(family.takeHeard()).toEqual(['child 1: gone from before', 'child 1: gone from after']);
  line.begin();
  expect(family.takeHeard()).toEqual(['child 1: gone from before', 'child 1: gone from after']);
  const late: string[] = [];
  line.hear((from, said) => late.push(`${said.kind} from ${from}`));
  expect(late).toEqual(['gone from before', 'gone from after']);
});
