import { ACCESS } from '../../src/config/access.ts';
import { code, page, table } from './markdown.ts';

/** docs/http.md: every path and who may use it. */
export const httpPage = (): string =>
  page(
    '# Paths',
    'What answers on the main port. The first row that fits a path counts; `/*` stands for whatever is below.',
    'Access: `open` is for anybody, `infer` for those who may ask models, `admin` for those who run catnap.',
    table(
      ['Path', 'Methods', 'Access', 'Use', 'Meaning'],
      ACCESS.map(({ path, methods, access, use, meaning }) => [code(path), methods.join(', '), access, use, meaning]),
    ),
  );
