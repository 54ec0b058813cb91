/** The service itself, which is no place for results, messages or objects, under each of its names. */
import { hostname } from 'node:os';
import { expect, it } from 'vitest';
import { apiSettings } from '../../../src/api/settings.ts';
import { refuseOwn } from '../../../src/api/submit/wanted/own.ts';

type Deps = Parameters<typeof refuseOwn>[0];

const refuse = (url: string, base?: string) => {
  const settings = apiSettings.parse({ port: 8080, publicUrl: 'https://files.example.org/mill', allowedHosts: ['mill.internal'] });
  return () => refuseOwn({ service: { settings } } as Deps, url, base);
};

it.each([
  'https://files.example.org/put',
  'https://files.example.org.:443/',
  'https://FILES.example.org',
  'http://127.0.0.1:8080/put',
  'http://127.9.9.9:8080',
  'http://2130706433:8080',
  'http://[::1]:8080',
  'http://[::ffff:127.0.0.1]:8080',
  'http://0.0.0.0:8080',
  'http://[::]:8080',
  'http://localhost:8080',
  'http://a.localhost:8080',
  `http://${hostname()}:8080`,
  'http://mill.internal:8080',
  'https://mill.internal',
  'http://files.example.org:8080',
  'http://files.example.org',
])('%s is refused', (url) => expect(refuse(url)).toThrow(expect.objectContaining({ code: 'URL_REFUSED', details: { reason: 'address' } })));

it('a port that only the request knows is its own too', () => {
  expect(refuse('http://localhost:9999', 'http://192.0.2.7:9999')).toThrow(expect.objectContaining({ code: 'URL_REFUSED' }));
  expect(refuse('http://192.0.2.7:9999/x', 'http://192.0.2.7:9999')).toThrow(expect.objectContaining({ code: 'URL_REFUSED' }));
});

it.each([
  'https://store.example.org/put',
  'http://files.example.org:9000',
  'http://localhost:9000',
  'https://localhost',
  `https://${hostname()}`,
  'http://192.0.2.7:8080',
  'nonsense',
])('%s is another place', (url) => expect(refuse(url)).not.toThrow());
