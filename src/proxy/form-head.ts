/** The field that names the model. */
export const FIELD = 'model';
/** The one that asks for a stream of events. */
export const STREAM_FIELD = 'stream';

/** What the head of one part of a form says. */
export type PartHead =
  | {
      readonly kind: 'read';
      /** As it is written. */
      readonly name: string;
      /** Whether its content is written as it is, and not a file. */
      readonly plain: boolean;
    }
  | { readonly kind: 'twisted'; readonly why: string };

/** Longer ones are refused by the usual readers of forms as well (RFC 2046 allows 70). */
const BOUNDARY = /^[ !#-[\]-~]{0,199}[!#-[\]-~]$/;

/** The boundary of a form, or undefined when its content type names none, or two. */
export function boundaryOf(contentType: string): string | undefined {
  const params = paramsOf(contentType);
  const named = params?.filter(([name]) => name === 'boundary');
  const boundary = named?.length === 1 ? named[0]?.[1] : undefined;
  return boundary !== undefined && BOUNDARY.test(boundary) ? boundary : undefined;
}

/** Reads the header lines of a part, without the empty one at their end. What two readers may understand in two ways is twisted. */
export function readPartHead(head: string): PartHead {
  let disposition: string | undefined;
  let encoding = '';
  for (const line of head.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon < 1 || /[\s\0]/.test(line.slice(0, colon)) || /[\r\n\0]/.test(line)) return twisted('a broken header');
    const name = line.slice(0, colon).toLowerCase();
    if (name === 'content-transfer-encoding') encoding = line.slice(colon + 1).trim();
    if (name !== 'content-disposition') continue;
    if (disposition !== undefined) return twisted('two Content-Disposition headers');
    disposition = line.slice(colon + 1);
  }
  const params = paramsOf(disposition ?? '');
  if (params === undefined || !/^\s*form-data\s*;/i.test(disposition ?? '')) {
    return twisted('no Content-Disposition that can be read');
  }
  const names = params.filter(([name]) => name === 'name' || name.startsWith('name*'));
  const [only] = names;
  if (only === undefined || names.length > 1 || only[0] !== 'name') return twisted('no name, or two');
  const file = params.some(([name]) => name === 'filename' || name.startsWith('filename*'));
  // Some readers take backslashes away, others keep them.
  if (only[1] !== FIELD && unescaped(only[1]) === FIELD) return twisted('a name with needless backslashes');
  return { kind: 'read', name: only[1], plain: !file && /^(?:7bit|8bit|binary)?$/i.test(encoding) };
}

const unescaped = (text: string): string => text.replaceAll(/\\([^])/g, '$1');

const twisted = (why: string): PartHead => ({ kind: 'twisted', why });

const PARAM = /\s*;\s*([!#$%&'*+.^_`|~\w-]+)\s*=\s*(?:"((?:[^"\\]|\\[^])*)"|([^\s;"]*))/y;

/** The parameters of a header in order, as they are written; undefined when something in it is none. */
function paramsOf(header: string): [name: string, value: string][] | undefined {
  const start = header.indexOf(';');
  if (start === -1) return [];
  const params: [string, string][] = [];
  const text = header.trimEnd();
  PARAM.lastIndex = start;
  for (let end = start; end < text.length; end = PARAM.lastIndex) {
    const match = PARAM.exec(text);
    if (match === null) return /^\s*;?\s*$/.test(text.slice(end)) ? params : undefined;
    const [, name = '', quoted, bare = ''] = match;
    params.push([name.toLowerCase(), quoted ?? bare]);
  }
  return params;
}
