import type { Context } from 'hono';
import { after } from '../core/kinds.ts';
import type { Cancel } from '../ports/clock.ts';
import type { ControlDeps } from './deps.ts';

type Manner = { readonly type: string; readonly ping: string | undefined };

const SSE: Manner = { type: 'text/event-stream', ping: ': catnap\n\n' };
const PING_MS = 15_000;
/** A reader that is this many pieces behind is let go; it comes back for what it has missed. */
const MOST_WAITING = 10_000;

/** What feeds a stream that has begun. */
export type Source = {
  readonly stop: () => void;
  /** Called whenever the reader has read all that was sent. */
  readonly more?: () => void;
};

/**
 * An answer that goes on until its reader leaves. `begin` gets what to send with.
 * A silent stream sends a comment now and then, so that whoever stands in between keeps it open. It ends when another catnap takes over.
 */
export function eventStream(
  c: Context,
  { clock, leaving }: Pick<ControlDeps, 'clock' | 'leaving'>,
  begin: (push: (text: string) => void) => Source,
  { type, ping } = SSE,
): Response {
  const headers = { 'content-type': type, 'x-accel-buffering': 'no' };
  // Of an answer without a body nobody would ever say that its reader has left.
  if (c.req.method === 'HEAD') return new Response(null, { headers });
  const encoder = new TextEncoder();
  let source: Source = { stop() {} };
  let cancelPing: Cancel = () => {};
  let end = (): void => {};
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let open = true;
        end = (): void => {
          open = false;
          cancelPing();
          leaving.removeEventListener('abort', leave);
          source.stop();
        };
        const leave = (): void => {
          if (!open) return;
          end();
          controller.close();
        };
        const push = (text: string): void => {
          if (!open) return;
          if ((controller.desiredSize ?? 0) <= -MOST_WAITING) {
            end();
            controller.error(new Error('the reader is too slow'));
          } else controller.enqueue(encoder.encode(text));
        };
        const arm = (): void => {
          if (ping === undefined) return;
          cancelPing = clock.at(after(clock.now(), PING_MS), () => {
            push(ping);
            if (open) arm();
          });
        };
        leaving.addEventListener('abort', leave);
        source = begin(push);
        if (open) arm();
        else source.stop();
        if (leaving.aborted) leave();
      },
      pull() {
        source.more?.();
      },
      cancel() {
        end();
      },
    },
    new CountQueuingStrategy({ highWaterMark: 1 }),
  );
  return new Response(body, { headers });
}
