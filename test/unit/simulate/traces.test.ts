import { describe, test } from 'vitest';
import { readTrace } from '../../../src/simulate/traces.ts';

const read = (text: string, model?: string) => readTrace(text.split('\n'), model);

describe('a trace', () => {
  test('of our own says when, for whom and for how long', ({ expect }) => {
    const text = 'at_secs,model,wait_secs,service_secs\n10.5,a,0,2\n\n12,"b,2",1,0.25\n';
    expect(read(text)).toEqual({
      kind: 'read',
      skipped: 0,
      arrivals: [
        { at: 0, model: 'a', serviceMs: 2_000 },
        { at: 1_500, model: 'b,2', serviceMs: 250 },
      ],
    });
  });

  test('of our own says who left, and who was not served', ({ expect }) => {
    const text =
      'at_secs,model,wait_secs,service_secs,bytes_in,bytes_out,outcome\n1,a,0.5,4,10,20,served\n2,a,3,,10,0,abandoned\n3,a,60,,10,0,expired';
    expect(read(text)).toMatchObject({
      arrivals: [{ serviceMs: 4_000 }, { serviceMs: 4_000, leavesAfterMs: 3_000 }, { at: 2_000, serviceMs: 4_000 }],
    });
  });

  test('of BurstGPT gives sizes', ({ expect }) => {
    const text =
      'Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n45,GPT-4,2000,500,2500,API log';
    expect(read(text)).toMatchObject({
      arrivals: [
        { at: 0, model: 'ChatGPT', serviceMs: 596 },
        { at: 40_000, model: 'GPT-4', serviceMs: 11_000 },
      ],
    });
  });

  test('of Azure is for one model, which has to be said', ({ expect }) => {
    const text =
      'TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16 18:17:04.9799600,3180,8\r\n2024-05-10 00:00:00.009930+00:00,1,1\r';
    expect(read(text, 'code')).toMatchObject({
      skipped: 0,
      arrivals: [{ at: 0, model: 'code' }, { at: 1_000, serviceMs: 1_750 }, { model: 'code' }],
    });
    expect(read(text)).toMatchObject({ kind: 'unreadable', problem: expect.stringContaining('MODEL=FILE') });
  });

  test('is put in order, and lines that are no requests are counted', ({ expect }) => {
    const text = 'at_secs,model,service_secs\n5,a,1\nx,a,1\n3,b,1\n4,,1\n4,a,-1\n';
    expect(read(text)).toMatchObject({
      skipped: 3,
      arrivals: [
        { at: 0, model: 'b' },
        { at: 2_000, model: 'a' },
      ],
    });
  });

  test.for([
    ['', 'it is empty'],
    ['a,b\n1,2', 'its first line is "a,b"'],
    ['at_secs,model,service_secs\nx,y,z', 'none of its lines'],
  ] as const)('%j is none', ([text, says], { expect }) => {
    expect(read(text)).toMatchObject({ kind: 'unreadable', problem: expect.stringContaining(says) });
  });
});
