import { request } from 'node:http';

/** A long stream, over a connection on which nothing is sent of its own accord. */
export function longTalk(port: number, n_predict: number) {
  let body = '';
  const { promise: end, resolve, reject } = Promise.withResolvers<string>();
  const call = request({ port, host: '127.0.0.1', path: '/completion', method: 'POST', agent: false }, (answer) => {
    answer.setEncoding('utf8').on('data', (text: string) => (body += text));
    answer.once('end', () => resolve(body.replaceAll(/^data: .*"stop":true.*$/gm, ''))).once('error', reject);
  });
  call.once('error', reject);
  call.end(
    JSON.stringify({
      prompt: 'Once upon a time there was a light',
      n_predict,
      temperature: 0,
      ignore_eos: true,
      stream: true,
    }),
  );
  return { end, said: () => body, leave: () => void call.destroy(new Error('aborted')) };
}
