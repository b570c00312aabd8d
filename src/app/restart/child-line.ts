import type { Channel, BareSocket } from '../../adapters/ipc.ts';
import { ToChild, type ToParent } from './parent-line.ts';
import type { Hear, Line, Said, Side } from './said.ts';

/** The line as a catnap sees it that was made by another one. */
export class ChildLine implements Line {
  readonly #channel: Channel;
  #hear: Hear = () => {};
  #isLost = false;

  constructor(channel: Channel) {
    this.#channel = channel;
    channel.hear((message, socket) => {
      const told = ToChild.safeParse(message);
      if (told.success) this.#hear(told.data.from, told.data.said, socket);
      else socket?.close();
    });
  }

  begin(): void {
    if (this.#isLost) this.#noneBeside();
    else void this.#channel.send({ kind: 'begin' } satisfies ToParent);
  }

  callOff(): void {
    void this.#channel.send({ kind: 'call-off' } satisfies ToParent);
  }

  send(to: Side, said: Said, socket?: BareSocket): Promise<void> {
    return this.#channel.send({ kind: 'pass-on', to, said } satisfies ToParent, socket);
  }

  hear(listener: Hear): void {
    this.#hear = listener;
    if (this.#isLost) this.#noneBeside();
  }

  /** The process that was started first is gone, and nobody can be heard of any more. */
  lost(): void {
    this.#isLost = true;
    this.#noneBeside();
  }

  #noneBeside(): void {
    const gone = { kind: 'gone', why: 'the process that was started first is no more' } as const;
    for (const from of ['before', 'after'] as const) this.#hear(from, gone, undefined);
  }

  /** The event loop may run empty from now on. */
  close(): void {
    this.#channel.close();
  }
}
