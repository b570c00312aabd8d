// Runs the built command line in this process. Launched by launch.mjs, which has made sure of the Node and of dist.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './folders.mjs';
import { FAILED, orRefuse, Refusal } from './refusal.mjs';

await orRefuse(async () => {
  const built = join(ROOT, 'dist/cli/main.js');
  if (!existsSync(built))
    throw new Refusal(`${built} is missing; run npm run build in a checkout, or install catnap again.`, FAILED);
  const { main } = await import(pathToFileURL(built).href);
  process.exitCode = await main(process.argv.slice(2), process.argv[1]);
});
