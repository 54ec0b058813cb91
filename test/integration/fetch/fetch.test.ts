/** The guarded download by a process that reaches the Internet itself, and the name servers that it asks. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { directConnector } from '../../../src/fetch/direct-connector.ts';
import { nameServers } from '../../../src/fetch/resolve.ts';
import { downloadSuite } from '../../conformance/downloads.ts';

const HERE = '127.0.0.1';

downloadSuite('by ourselves', async (settings, surroundings) => ({ way: directConnector(settings, surroundings), close: async () => {} }));

describe('the name servers', () => {
  /** Answers (RFC 1035, 4.1) by the question's type with addresses as bytes, with "no such name", or not at all. */
  async function nameServer(answers: Readonly<Record<number, readonly (readonly number[])[]>> | 'unknown' | 'silent') {
    const socket = createSocket('udp4');
    const queries: number[] = [];
    socket.on('message', (query, { address, port }) => {
      const end = query.indexOf(0, 12) + 5;
      const type = query.readUInt16BE(end - 4);
      queries.push(type);
      socket.emit('asked');
      if (answers === 'silent') return;
      const found = answers === 'unknown' ? [] : (answers[type] ?? []);
      const header = Buffer.alloc(12);
      query.copy(header, 0, 0, 2);
      header.writeUInt16BE(answers === 'unknown' ? 0x8183 : 0x8180, 2);
      header.writeUInt16BE(1, 4);
      header.writeUInt16BE(found.length, 6);
      const records = found.map((data) => Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length, ...data]));
      socket.send(Buffer.concat([header, query.subarray(12, end), ...records]), port, address);
    });
    socket.bind(0, HERE);
    await once(socket, 'listening');
    return { socket, queries, resolve: nameServers([`${HERE}:${socket.address().port}`]) };
  }

  const signal = new AbortController().signal;

  it.each<[string, Readonly<Record<number, readonly (readonly number[])[]>>, readonly string[]]>([
    [
      'both families',
      {
        1: [
          [192, 0, 2, 1],
          [10, 0, 0, 1],
        ],
        28: [[0xfd, ...Array<number>(14).fill(0), 5]],
      },
      ['192.0.2.1', '10.0.0.1', 'fd00::5'],
    ],
    ['IPv4 alone', { 1: [[192, 0, 2, 1]] }, ['192.0.2.1']],
    ['IPv6 alone', { 28: [[0xfd, ...Array<number>(14).fill(0), 5]] }, ['fd00::5']],
  ])('give the addresses of %s', async (_what, answers, addresses) => {
    const { socket, queries, resolve } = await nameServer(answers);
    expect(await resolve('files.example', signal)).toEqual(addresses);
    expect(queries.sort()).toEqual([1, 28]);
    socket.close();
  });

  it.each<['unknown' | Record<number, never[]>]>([['unknown'], [{}]])('that know none make it fail: %j', async (answers) => {
    const { socket, resolve } = await nameServer(answers);
    await expect(resolve('files.example', signal)).rejects.toThrow('no address');
    socket.close();
  });

  it('are not waited for when the caller leaves', async () => {
    const { socket, resolve } = await nameServer('silent');
    const leaving = new AbortController();
    const resolving = resolve('files.example', leaving.signal);
    await once(socket, 'asked');
    leaving.abort();
    await expect(resolving).rejects.toThrow('no address');
    socket.close();
  });
});
