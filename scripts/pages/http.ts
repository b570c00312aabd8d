import { ACCESS, type AccessRow } from '../../src/config/access.ts';
import { code, page, table } from './markdown.ts';

/** Who needs what, in the words of the config. */
const CLASSES = [
  ['`open`', 'nothing', 'nothing', 'both ports'],
  ['`infer`', 'nothing', 'a key with `infer`', 'the main port'],
  ['`admin`', 'that the request is made on this machine, not through a proxy', 'a key with `admin`', '`admin_port`'],
];

/** docs/http.md: every path and who may use it. */
export const httpPage = (): string =>
  page(
    '# Paths',
    'What answers on the main port. The first row that fits a path and its method counts; `/*` stands for whatever is below.',
    'What each class of access needs. [security.md](security.md) says what web pages may do, and what is not defended.',
    table(['Access', 'Without such keys', 'As soon as one key has the right', 'With `admin_port`'], CLASSES),
    'A path that is in no row needs what `infer` needs, and is 404. On `admin_port`, `/upstream/*` needs both rights.',
    table(
      ['Path', 'Methods', 'Access', 'Use', 'Meaning'],
      ACCESS.map(({ path, methods, access, use, meaning }: AccessRow) => [
        code(path),
        methods.join(', '),
        access,
        use,
        meaning,
      ]),
    ),
  );
