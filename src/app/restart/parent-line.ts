import { z } from 'zod';
import type { Forked, ForkedEnd, BareSocket } from '../../adapters/ipc.ts';
import { Said, Side, type Hear, type Line } from './said.ts';

/** What a child asks its parent to do, or to pass on. */
export const ToParent = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('begin') }),
  z.object({ kind: z.literal('call-off') }),
  z.object({ kind: z.literal('pass-on'), to: Side, said: Said }),
]);
export type ToParent = z.infer<typeof ToParent>;

/** What a child is told: what another one says. */
export const ToChild = z.object({ from: Side, said: Said });
export type ToChild = z.infer<typeof ToChild>;

/** One catnap of the line: this process, or a child of it. */
type Link = {
  readonly deliver: (from: Side, said: Said, socket: BareSocket | undefined) => Promise<void>;
  readonly child: Forked | undefined;
};

/**
 * The process that was started first. Its number is what a service manager knows, so it stays as long as a catnap does: it makes those that come
 * after it, passes on what they say to each other, and ends as the one that serves ends. There are at most three at a time, of which one comes or goes.
 */
export class ParentLine implements Line {
  readonly #fork: () => Forked;
  readonly #ended = Promise.withResolvers<ForkedEnd>();
  #hear: Hear = () => {};
  /** Who serves what was open when the one that serves now took over. */
  #goes: Link | undefined;
  #serves: Link = {
    deliver: (from, said, socket) => {
      this.#hear(from, said, socket);
      return Promise.resolve();
    },
    child: undefined,
  };
  #comes: Link | undefined;
  /** Whether that one is being ended: what it says from then on counts no more. */
  #isCalledOff = false;

  constructor(fork: () => Forked) {
    this.#fork = fork;
  }

  /** How the child ended that served. */
  get ended(): Promise<ForkedEnd> {
    return this.#ended.promise;
  }

  /** The child that serves. Undefined: this process does. */
  get child(): Forked | undefined {
    return this.#serves.child;
  }

  begin(): void {
    this.#begin(this.#serves);
  }

  callOff(): void {
    this.#isCalledOff = true;
    this.#comes?.child?.signal('SIGKILL');
  }

  /** The same, and resolves once it is gone. */
  async endComing(): Promise<void> {
    const comes = this.#comes?.child;
    this.callOff();
    await comes?.ended;
  }

  send(to: Side, said: Said, socket?: BareSocket): Promise<void> {
    const own = [this.#serves, this.#goes].find((link) => link?.child === undefined && link !== undefined);
    return own === undefined ? Promise.resolve() : this.#passOn(own, to, said, socket);
  }

  hear(listener: Hear): void {
    this.#hear = listener;
  }

  /** This process serves nothing more. */
  leave(): void {
    // Whoever heard for it can be forgotten.
    this.#hear = () => {};
    if (this.#goes?.child === undefined) this.#gone('before', 'it has ended');
  }

  #begin(by: Link): void {
    if (by !== this.#serves || this.#comes !== undefined || this.#goes !== undefined) {
      void by.deliver('after', { kind: 'gone', why: 'another restart is not over' }, undefined);
      return;
    }
    const child = this.#forked(by);
    if (child === undefined) return;
    const link: Link = {
      child,
      deliver: (from, said, socket) => child.send({ from, said } satisfies ToChild, socket),
    };
    this.#comes = link;
    this.#isCalledOff = false;
    child.hear((message, socket) => {
      const asked = ToParent.safeParse(message);
      if (!asked.success) return;
      if (asked.data.kind === 'begin') this.#begin(link);
      else if (asked.data.kind === 'call-off') {
        if (link === this.#serves) this.callOff();
      } else {
        // Ours is a copy.
        void this.#passOn(link, asked.data.to, asked.data.said, socket).then(() => socket?.close());
      }
    });
    void child.ended.then((end) => this.#end(link, end));
  }

  /** Undefined: the system has no room for another process, of which it is told. */
  #forked(by: Link): Forked | undefined {
    try {
      return this.#fork();
    } catch (error) {
      void by.deliver('after', { kind: 'gone', why: String(error) }, undefined);
      return undefined;
    }
  }

  async #passOn(from: Link, to: Side, said: Said, socket: BareSocket | undefined): Promise<void> {
    if (from === this.#comes && this.#isCalledOff) return;
    // From here on the one that comes cannot be called off any more.
    if (said.kind === 'taken' && from === this.#comes) {
      this.#goes = this.#serves;
      this.#serves = from;
      this.#comes = undefined;
    }
    const line = [this.#goes, this.#serves, this.#comes];
    const at = line.indexOf(from);
    const target = at === -1 ? undefined : line[at + (to === 'before' ? -1 : 1)];
    await target?.deliver(to === 'before' ? 'after' : 'before', said, socket);
  }

  #end(link: Link, end: ForkedEnd): void {
    if (link === this.#serves) this.#ended.resolve(end);
    else if (link === this.#comes) {
      this.#comes = undefined;
      void this.#serves.deliver('after', { kind: 'gone', why: howEnded(end) }, undefined);
    } else this.#gone('before', howEnded(end));
  }

  #gone(side: 'before', why: string): void {
    if (this.#goes === undefined) return;
    this.#goes = undefined;
    void this.#serves.deliver(side, { kind: 'gone', why }, undefined);
  }
}

function howEnded({ code, signal }: ForkedEnd): string {
  if (signal !== null) return `it was ended by ${signal}`;
  return code === null ? 'it could not be started' : `it ended with ${code}`;
}
