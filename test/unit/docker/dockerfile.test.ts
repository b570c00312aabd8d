import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { build, copyContext } from '../../../scripts/docker/build.ts';
import { readDockerfile } from '../../../scripts/docker/dockerfile.ts';
import { testFolder } from '../../helpers/survivors.ts';

const test = base.extend('folder', async ({}, { onCleanup }) => {
  const folder = testFolder();
  onCleanup(() => folder.remove());
  return folder.path;
});

const SMALL = `
# comment
FROM node:24-slim AS build
WORKDIR /app
COPY made.txt ./
RUN cp made.txt copied.txt && \\
    echo more >> copied.txt
FROM node:24-slim
ENV GREETING=hello
WORKDIR /srv
COPY --from=build /app/copied.txt renamed.txt
COPY sub deeper
RUN echo "$GREETING" > greeting.txt
USER node
EXPOSE 3000
HEALTHCHECK --interval=1s CMD ["true"]
ENTRYPOINT ["node", "x.mjs"]
CMD ["--config", "/etc/x.json"]
`;

function contextIn(folder: string): string {
  const context = join(folder, 'context');
  mkdirSync(join(context, 'sub'), { recursive: true });
  writeFileSync(join(context, 'made.txt'), 'made\n');
  writeFileSync(join(context, 'sub/inner.txt'), 'inner\n');
  return context;
}

test('steps are performed stage by stage, with the folders, files and variables they name', async ({
  expect,
  folder,
}) => {
  const image = await build(readDockerfile(SMALL), contextIn(folder), folder);
  const text = (path: string): string => readFileSync(join(image.root, path), 'utf8');
  expect([text('srv/renamed.txt'), text('srv/deeper/inner.txt'), text('srv/greeting.txt')]).toEqual([
    'made\nmore\n',
    'inner\n',
    'hello\n',
  ]);
});

test('the way it is started and its health check are read', ({ expect }) => {
  const { command, health } = readDockerfile(SMALL);
  expect(command).toEqual(['node', 'x.mjs', '--config', '/etc/x.json']);
  expect(health).toEqual(['true']);
});

test.for([
  ['FROM x\nCOPY gone.txt ./', 'COPY gone.txt: it does not exist'],
  ['FROM x\nCOPY --from=nowhere a b', 'there is no such stage'],
  ['FROM x\nRUN echo the reason; exit 3', 'the reason'],
] as const)('%j fails and says why', async ([text, reason], { expect, folder }) => {
  await expect(build(readDockerfile(text), contextIn(folder), folder)).rejects.toThrow(reason);
});

test.for([
  ['RUN x', 'line 1: RUN comes before FROM'],
  ['FROM x\n\nADD a b', "line 3: cannot try 'ADD a b'"],
  ['FROM x\nCOPY --chown=node a b', 'cannot try'],
  ['FROM x\nCMD node x', 'line 2: write it as a list'],
] as const)('%j is refused rather than misread', ([text, reason], { expect }) => {
  expect(() => readDockerfile(text)).toThrow(reason);
});

test('the context is what the ignore file lets through, and no more', ({ expect, folder }) => {
  const checkout = contextIn(folder);
  const ignore = join(folder, 'ignore');
  writeFileSync(ignore, '*\n!sub\n');
  copyContext(checkout, ignore, join(folder, 'sent'));
  expect(() => readFileSync(join(folder, 'sent/made.txt'))).toThrow('ENOENT');
  expect(readFileSync(join(folder, 'sent/sub/inner.txt'), 'utf8')).toBe('inner\n');
  writeFileSync(ignore, '*\n!gone\n');
  expect(() => copyContext(checkout, ignore, join(folder, 'sent'))).toThrow('names gone, which does not exist');
  writeFileSync(ignore, 'node_modules\n');
  expect(() => copyContext(checkout, ignore, join(folder, 'sent'))).toThrow('begin with *');
});
