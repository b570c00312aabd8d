/** What the built-in engine answers, and how fast. */
export type StubSpec = {
  readonly model: string;
  readonly text: string;
  /** How many tokens; the text is repeated or cut. Undefined: those of the text. */
  readonly tokens: number | undefined;
  readonly firstTokenMs: number;
  readonly tokenMs: number;
};

/** While it loads or sleeps it answers 503 where a model would be needed. */
export type StubState = 'loading' | 'awake' | 'asleep';

/** A real HTTP server on 127.0.0.1 that speaks like an engine. It lives in our own process. */
export interface StubServer {
  readonly port: number;
  readonly pid: number;
  /** Settles with the reason when it goes down without `close`, as a client can make it do; never rejects. */
  readonly crashed: Promise<string>;
  set(state: StubState): void;
  /** Ends every connection and gives the port back. */
  close(): Promise<void>;
}

export interface StubServers {
  open(spec: StubSpec): Promise<StubServer>;
}
