// `npm run docker:try`: performs the steps of docker/Dockerfile in a clean folder, starts what came out and asks for its health.
// For machines without a container engine; it proves the commands and the files, not the base image.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, copyContext } from './docker/build.ts';
import { readDockerfile } from './docker/dockerfile.ts';
import { serveOnce } from './docker/serve.ts';

const checkout = join(dirname(fileURLToPath(import.meta.url)), '..');
const folder = mkdtempSync(join(tmpdir(), 'catnap-docker-'));
try {
  const dockerfile = readDockerfile(readFileSync(join(checkout, 'docker/Dockerfile'), 'utf8'));
  copyContext(checkout, join(checkout, 'docker/Dockerfile.dockerignore'), join(folder, 'context'));
  const image = await build(dockerfile, join(folder, 'context'), folder);
  mkdirSync(join(image.root, 'etc/catnap'), { recursive: true });
  cpSync(join(checkout, 'docker/config.json'), join(image.root, 'etc/catnap/config.json'));
  const { code, output } = await serveOnce(image, dockerfile);
  if (code !== 0) throw new Error(`it ended with ${code} when it was asked to stop\n${output}`);
  console.log('docker/Dockerfile builds; what it starts is healthy and stops when asked');
} finally {
  rmSync(folder, { recursive: true, force: true });
}
