#!/usr/bin/env node
// The way into catnap, for `catnap`, `npx catnap` and `npm start`. Plain JavaScript, because it must run on the Node that is there.
import { join } from 'node:path';
import { becomeChild, ourTerminal } from './launch/child.mjs';
import { setUp } from './launch/checkout.mjs';
import { isCheckout, ROOT } from './launch/folders.mjs';
import { findNode } from './launch/node.mjs';
import { NODE_TOO_OLD, orRefuse, Refusal } from './launch/refusal.mjs';

await orRefuse(async () => {
  const node = await findNode();
  const succeeds = process.env['CATNAP_SUCCEEDS'] !== undefined;
  // What the catnap before has to say comes through a channel that ends here.
  if (succeeds && node !== process.execPath)
    throw new Refusal('the new catnap needs another Node; stop the one that runs, and start it again', NODE_TOO_OLD);
  if (isCheckout()) await setUp(ROOT, { node, build: true });
  // npm passes on a Ctrl+C that the terminal has sent to everybody already. A process between hears both, and catnap one.
  const heardTwice = process.env['npm_lifecycle_event'] !== undefined && ourTerminal().inForeground;
  if (node === process.execPath && (succeeds || !heardTwice)) await import('./launch/catnap.mjs');
  else await becomeChild(node, [join(ROOT, 'scripts/launch/catnap.mjs'), ...process.argv.slice(2)]);
});
