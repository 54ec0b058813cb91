/** Addresses that are to go away say so in every answer, and others do not. */
import fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { announceRetirements, type Retirement } from '../../../src/api/http/versioning.ts';

const OLD: Retirement = {
  method: 'GET',
  route: '/old/:id',
  deprecated: new Date('2027-01-01T00:00:00Z'),
  sunset: new Date('2027-07-01T00:00:00Z'),
  link: 'https://files.example.org/docs/versioning',
};

function serverWith(table: readonly Retirement[]) {
  const app = fastify();
  announceRetirements(app, table);
  for (const url of ['/old/:id', '/new']) app.all(url, async () => ({}));
  app.get('/broken', () => Promise.reject(new Error('broken')));
  return app;
}

describe('a retirement', () => {
  it('is announced by date, as both RFCs write it, with a page that tells more', async () => {
    const { headers } = await serverWith([OLD]).inject({ method: 'GET', url: '/old/7' });
    expect(headers).toMatchObject({
      deprecation: '@1798761600',
      sunset: 'Thu, 01 Jul 2027 00:00:00 GMT',
      link: '<https://files.example.org/docs/versioning>; rel="deprecation"; type="text/html"',
    });
  });

  it('is announced by refusals too', async () => {
    const table = [{ ...OLD, route: '/broken' }];
    expect((await serverWith(table).inject({ method: 'GET', url: '/broken' })).headers['sunset']).toBeDefined();
  });

  it.each([
    ['POST', '/old/7'],
    ['GET', '/new'],
    ['GET', '/nowhere'],
  ] as const)('is not announced by %s %s', async (method, url) => {
    const { headers } = await serverWith([OLD]).inject({ method, url });
    expect(headers).not.toHaveProperty('deprecation');
    expect(headers).not.toHaveProperty('sunset');
  });

  it('gives clients half a year at least', () => {
    const hasty = { ...OLD, sunset: new Date('2027-06-01T00:00:00Z') };
    expect(() => serverWith([OLD, hasty])).toThrow(/^GET \/old\/:id .*half a year/);
  });
});
