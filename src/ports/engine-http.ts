/** Control calls to engines: probes, sleep, wake, slots. Inference does not go this way. */
export type EngineAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly body: string }
  /** Nothing listens there yet, or the connection was closed. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'timeout' };

export type EngineCall = {
  readonly method: 'GET' | 'POST';
  /** Absolute. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** From the call to the last byte of the answer. */
  readonly limitMs: number;
  readonly signal?: AbortSignal;
  /** Told each line of an answer of 200 as it comes, in place of the body. A line is told up to 64 KiB of it. */
  readonly onLine?: ((line: string) => void) | undefined;
};

export interface EngineHttp {
  /** Never rejects; an aborted call answers `refused`. Bodies are read up to 64 KiB. Connections are not kept. */
  call(call: EngineCall): Promise<EngineAnswer>;
}
