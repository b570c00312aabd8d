import { test } from 'vitest';
import { mirrorsIn } from '../../../../src/quickstart/llama/apt.ts';

const inRelease = (base: string, suite: string): string => `'${base}/dists/${suite}/InRelease' x_InRelease 0 `;

test('the mirrors of the main archive are those that apt would update, likeliest first', ({ expect }) => {
  const printed = [
    inRelease('https://packages.example.com/apt', 'stable'),
    inRelease('http://mirror.example.org/debian', 'bookworm'),
    inRelease('http://mirror.example.org/debian', 'bookworm-updates'),
    inRelease('http://mirror.example.org/debian-security', 'bookworm-security'),
    inRelease('http://security.example.org/debian', 'bookworm-security'),
    `'http://other.example.org/debian/dists/bookworm/main/binary-amd64/Packages.xz' x_Packages 0 `,
    inRelease('file:/srv/packages', 'local'),
  ].join('\n');
  expect(mirrorsIn(printed)).toEqual(['http://mirror.example.org/debian', 'https://packages.example.com/apt']);
});

test('a system without sources has none', ({ expect }) => {
  expect(mirrorsIn('')).toEqual([]);
});
