import type { BareSocket } from '../../adapters/ipc.ts';
import type { TicketId } from '../../core/kinds.ts';
import type { HandedCut, Handover, Predecessor } from '../../ports/handover.ts';
import type { HadBefore, Place, PortName } from '../listeners.ts';
import { PROTOCOL, type Line, type Said, type Word } from './said.ts';

/** Told that a request has ended which the catnap before serves; undefined: all have, since it is no more. */
type Settled = (ticket: TicketId | undefined) => void;

type Taker = { readonly settled: Settled; readonly accept: (port: PortName, socket: BareSocket) => void };

/** Takes over from the catnap before: its engines, its ports, and what is left to be told of the requests that it goes on with. */
export class Taking implements Predecessor {
  readonly #line: Line;
  readonly #version: string;
  readonly #asked = Promise.withResolvers<Word<'take'>>();
  readonly #complete = Promise.withResolvers<void>();
  readonly #sockets = new Map<PortName, BareSocket>();
  #places: Word<'take'>['places'] = [];
  #handover: Handover | undefined;
  /** Until there is somebody to tell. */
  readonly #early: (TicketId | undefined)[] = [];
  #settled: Settled = (ticket) => void this.#early.push(ticket);
  #accept: Taker['accept'] = (_port, socket) => socket.close();

  constructor(line: Line, version: string) {
    this.#line = line;
    this.#version = version;
    // It may be over before anybody waits for it.
    for (const { promise } of [this.#asked, this.#complete]) promise.catch(() => {});
  }

  /** What the catnap before says. */
  hear(said: Said, socket: BareSocket | undefined): void {
    switch (said.kind) {
      case 'take':
        this.#places = said.places;
        this.#asked.resolve(said);
        break;
      case 'socket':
        if (socket !== undefined) this.#sockets.set(said.port, socket);
        break;
      case 'connection':
        if (socket !== undefined) this.#accept(said.port, socket);
        return;
      case 'settled':
        this.#settled(said.ticket);
        return;
      case 'gone':
        this.#settled(undefined);
        this.#asked.reject(new Error(`the catnap before has ended: ${said.why}`));
        this.#complete.reject(new Error(`the catnap before has ended: ${said.why}`));
        return;
      default:
        return;
    }
    if (this.#places.every(({ port }) => this.#sockets.has(port))) this.#complete.resolve();
  }

  /** Why it cannot be. */
  refuse(why: readonly string[]): Promise<void> {
    return this.#line.send('before', { kind: 'refused', why: [...why] });
  }

  /** What it has got, in numbers. */
  get taken(): { readonly version: string; readonly engines: number; readonly requests: number } {
    const models = this.#handover?.stages.flatMap((stage) => stage.models) ?? [];
    const engines = models.reduce((sum, { running }) => sum + running.length, 0);
    const requests = models.reduce((sum, { leases }) => sum + leases.length, 0);
    return { version: this.#handover?.catnap ?? '', engines, requests };
  }

  async takeOver(): Promise<Handover> {
    void this.#line.send('before', { kind: 'ready', protocol: PROTOCOL, version: this.#version });
    const { handover } = await this.#asked.promise;
    await this.#complete.promise;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- both speak the same protocol, of which its shape is a part
    return (this.#handover = handover as Handover);
  }

  /** A port that is to be where the one before had it. */
  readonly before = ({ port, host, number }: Place): HadBefore | undefined => {
    const place = this.#places.find((one) => one.port === port && one.host === host && one.number === number);
    const socket = this.#sockets.get(port);
    if (place === undefined || socket === undefined) return undefined;
    this.#sockets.delete(port);
    return { number: place.at, socket };
  };

  cut(cut: HandedCut): void {
    void this.#line.send('before', { kind: 'cut', ...cut, tickets: [...cut.tickets] });
  }

  /** Everything is here, and clients are let in. Ports that are not wanted any more are nobody's from now on. */
  done({ settled, accept }: Taker): void {
    for (const socket of this.#sockets.values()) socket.close();
    this.#sockets.clear();
    void this.#line.send('before', { kind: 'taken' });
    this.#settled = settled;
    this.#accept = accept;
    for (const ticket of this.#early.splice(0)) settled(ticket);
  }
}
