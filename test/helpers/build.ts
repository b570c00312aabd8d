import { fileURLToPath } from 'node:url';
import { setUp } from '../../scripts/launch/checkout.mjs';

/** Brings dist up to date, once for all tests that run the built product. */
export default async function build(): Promise<void> {
  await setUp(fileURLToPath(new URL('../..', import.meta.url)), { node: process.execPath, build: true });
}
