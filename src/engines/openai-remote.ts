import type { NapLevel, ModelId } from '../core/kinds.ts';
import type { OpenaiRemoteModel } from '../config/schema.ts';
import { DriverError, type Backend, type Done, type Driver } from './driver.ts';
import { bearer } from './served.ts';

const NO_TIME: Done = { actMs: 0, proofMs: 0 };

/**
 * A model that is served elsewhere. There is nothing of ours to start and nobody to ask: it counts as ready at once,
 * and whether it is there shows with each request. It costs no room, so it is never put away for another.
 */
export class OpenaiRemoteDriver implements Driver {
  readonly running = undefined;
  readonly #model: ModelId;
  readonly #config: OpenaiRemoteModel;
  #backend: { readonly told: Backend; readonly gone: AbortController } | undefined;

  constructor(model: ModelId, config: OpenaiRemoteModel) {
    this.#model = model;
    this.#config = config;
  }

  get backend(): Backend | undefined {
    return this.#backend?.told;
  }

  async start(): Promise<Done> {
    const { url: origin, served_model_name: servedName = this.#model, api_key: key } = this.#config;
    const gone = new AbortController();
    this.#backend = { told: { origin, servedName, headers: bearer(key?.reveal()), gone: gone.signal }, gone };
    return NO_TIME;
  }

  async stop(): Promise<Done> {
    this.#backend?.gone.abort(new DriverError('the model is no longer served'));
    this.#backend = undefined;
    return NO_TIME;
  }

  async members(): Promise<readonly number[]> {
    return [];
  }

  async hindrance(level: NapLevel): Promise<string> {
    return cannotSleep(level).message;
  }

  async sleep(level: NapLevel): Promise<Done> {
    throw cannotSleep(level);
  }

  async wake(level: NapLevel): Promise<Done> {
    throw cannotSleep(level);
  }

  /** Starting it again would change nothing there, and a request to find out might cost money. */
  async prove(): Promise<boolean> {
    return true;
  }

  tail(): readonly string[] {
    return [];
  }

  release(): null {
    return null;
  }

  async adopt(): Promise<void> {
    await this.start();
  }
}

const cannotSleep = (level: NapLevel): DriverError =>
  new DriverError(`a model that runs elsewhere cannot be put to sleep at level ${level}`);
