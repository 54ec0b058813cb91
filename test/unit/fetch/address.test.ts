/** Which addresses and URLs are fetched: every special range of IANA, in every notation that a URL may carry. */
import { describe, expect, it } from 'vitest';
import { Failure } from '../../../src/errors.ts';
import { addressJudge, canonical, isRange } from '../../../src/fetch/address.ts';
import { sentName } from '../../../src/fetch/download/name.ts';
import { fetchSettings } from '../../../src/fetch/settings.ts';
import { judgeUrl, type UrlRules } from '../../../src/fetch/url.ts';
import { seeded } from '../../kit/catalog/bytes.ts';

/** IANA IPv4 Special-Purpose Address Registry, the multicast space, and what clouds answer on. */
const SPECIAL_4: Readonly<Record<string, string>> = {
  'this network': '0.0.0.0/8',
  'private, 10': '10.0.0.0/8',
  'shared address space': '100.64.0.0/10',
  loopback: '127.0.0.0/8',
  'link-local': '169.254.0.0/16',
  'private, 172': '172.16.0.0/12',
  'IETF protocol assignments': '192.0.0.0/24',
  'documentation 1': '192.0.2.0/24',
  AS112: '192.31.196.0/24',
  AMT: '192.52.193.0/24',
  '6to4 relay anycast': '192.88.99.0/24',
  'private, 192': '192.168.0.0/16',
  'AS112, direct delegation': '192.175.48.0/24',
  benchmarking: '198.18.0.0/15',
  'documentation 2': '198.51.100.0/24',
  'documentation 3': '203.0.113.0/24',
  multicast: '224.0.0.0/4',
  reserved: '240.0.0.0/4',
  'limited broadcast': '255.255.255.255/32',
  'metadata of most clouds': '169.254.169.254/32',
  'metadata of Alibaba': '100.100.100.200/32',
  'metadata of Oracle': '192.0.0.192/32',
  "Azure's host": '168.63.129.16/32',
};

/** IANA IPv6 Special-Purpose Address Registry, and what its address space has outside 2000::/3. */
const SPECIAL_6: Readonly<Record<string, string>> = {
  unspecified: '::/128',
  loopback: '::1/128',
  'IPv4-compatible': '::/96',
  'IPv4-translated': '::ffff:0:0:0/96',
  'low space': '::/8',
  'NAT64, local use': '64:ff9b:1::/48',
  'discard only': '100::/64',
  'dummy prefix': '100:0:0:1::/64',
  'IETF protocol assignments': '2001::/23',
  Teredo: '2001::/32',
  'port control anycast': '2001:1::1/128',
  benchmarking: '2001:2::/48',
  AMT: '2001:3::/32',
  'AS112-v6': '2001:4:112::/48',
  ORCHID: '2001:10::/28',
  ORCHIDv2: '2001:20::/28',
  'drone remote id': '2001:30::/28',
  documentation: '2001:db8::/32',
  '6to4': '2002::/16',
  'AS112, direct delegation': '2620:4f:8000::/48',
  'more documentation': '3fff::/20',
  'segment routing': '5f00::/16',
  'reserved, 4000': '4000::/3',
  'reserved, 8000': '8000::/3',
  'reserved, e000': 'e000::/4',
  'unique local': 'fc00::/7',
  'link-local': 'fe80::/10',
  'site-local': 'fec0::/10',
  multicast: 'ff00::/8',
  'metadata of AWS': 'fd00:ec2::254/128',
  'metadata of Google': 'fd20:ce::254/128',
};

const RULES: UrlRules = { http: false, ports: [443, 80] };
const isPublic = addressJudge({ allow: [], deny: [] });
const random = seeded(20_260_101);
/** From 144 random bits, so that the lowest are drawn too. */
const below = (bound: bigint): bigint =>
  Array.from({ length: 3 }, () => BigInt(Math.floor(random() * 2 ** 48))).reduce((sum, bits) => (sum << 48n) | bits, 0n) % bound;

const bytes4 = (value: bigint): number[] => [24n, 16n, 8n, 0n].map((shift) => Number((value >> shift) & 255n));
const groups6 = (value: bigint): number[] => Array.from({ length: 8 }, (_, at) => Number((value >> BigInt(112 - 16 * at)) & 0xffffn));
const dotted = (value: bigint): string => bytes4(value).join('.');
const coloned = (value: bigint): string =>
  groups6(value)
    .map((group) => group.toString(16))
    .join(':');
const value4 = (text: string): bigint => text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n);

function value6(text: string): bigint {
  const [head = '', tail] = text.split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':'));
  const filled =
    tail === undefined
      ? groups(head)
      : [...groups(head), ...Array<string>(8 - groups(head).length - groups(tail).length).fill('0'), ...groups(tail)];
  return filled.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}

interface Span {
  readonly first: bigint;
  readonly last: bigint;
}

function span(range: string): Span {
  const [network = '', bits = ''] = range.split('/');
  const [value, width] = network.includes(':') ? [value6(network), 128] : [value4(network), 32];
  return { first: value, last: value + 2n ** BigInt(width - Number(bits)) - 1n };
}

/** First, last, and eight between. */
function samples(range: string): bigint[] {
  const { first, last } = span(range);
  return [...new Set([first, last, ...Array.from({ length: 8 }, () => first + below(last - first + 1n))])];
}

/** What the WHATWG parser takes for this IPv4 address. */
function notations4(value: bigint): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = bytes4(value);
  const hex = (part: number | bigint) => `0x${part.toString(16)}`;
  const octal = (part: number | bigint) => `0${part.toString(8)}`;
  return [
    dotted(value),
    `${dotted(value)}.`,
    `${value}`,
    hex(value),
    hex(value).toUpperCase().replace('0X', '0X000'),
    octal(value),
    bytes4(value).map(hex).join('.'),
    bytes4(value).map(octal).join('.'),
    `${octal(a)}.${hex(b)}.${c}.000${octal(d)}`,
    `${a}.${b}.${c * 256 + d}`,
    `${hex(a)}.${(b * 256 + c) * 256 + d}`,
    `${octal(a)}.${octal((b * 256 + c) * 256 + d)}.`,
    // Full-width digits and the ideographic full stop (UTS 46).
    dotted(value).replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit))),
    dotted(value).replaceAll('.', '\u3002'),
    // Circled digits, which UTS 46 maps as well.
    dotted(value).replace(/[1-9]/g, (digit) => String.fromCharCode(0x2460 + Number(digit) - 1)),
    [...dotted(value)].map((character) => `%${character.charCodeAt(0).toString(16)}`).join(''),
    [...dotted(value)].join('\t'),
  ];
}

function notations6(value: bigint): string[] {
  const groups = groups6(value);
  const low = value & 0xffff_ffffn;
  return [
    coloned(value),
    coloned(value).toUpperCase(),
    groups.map((group) => group.toString(16).padStart(4, '0')).join(':'),
    // Shortest, as the parser itself writes it.
    new URL(`http://[${coloned(value)}]/`).hostname.slice(1, -1),
    `${coloned(value).split(':').slice(0, 6).join(':')}:${dotted(low)}`,
  ].map((text) => `[${text}]`);
}

/** IPv6 addresses that carry an IPv4 address to a translator or through a tunnel, and those that only look so. */
function carriers(value: bigint): Record<string, bigint> {
  return {
    mapped: value6('::ffff:0:0') | value,
    compatible: value,
    translated: value6('::ffff:0:0:0') | value,
    NAT64: value6('64:ff9b::') | value,
    'NAT64, local use': value6('64:ff9b:1::') | value,
    // RFC 6052, 2.2 for a prefix of 48 bits: two bytes, eight zero bits, two bytes.
    'NAT64, local use of 48 bits': value6('64:ff9b:1::') | ((value >> 16n) << 64n) | ((value & 0xffffn) << 40n),
    '6to4': value6('2002::') | (value << 80n),
    // RFC 4380, 4: server, flags, then port and client address with all bits turned.
    'Teredo client': value6('2001:0:4136:e378:8000:63bf::') | (value ^ 0xffff_ffffn),
    'Teredo server': value6('2001::') | (value << 64n),
  };
}

const verdict = (host: string): boolean => {
  const target = judgeUrl(`https://${host}/file.pdf`, RULES);
  expect(target.literal, `${host} is an address`).toBe(true);
  return isPublic(target.host);
};

const refusalOf = (url: string, rules = RULES, base?: URL): unknown => {
  try {
    return judgeUrl(url, rules, base).url.href;
  } catch (error) {
    if (error instanceof Failure && error.code === ('URL_REFUSED' as string)) return error.details['reason'];
    throw error;
  }
};

describe('a special range', () => {
  it.each(Object.entries(SPECIAL_4))('of IPv4 is refused in all notations: %s, %s', (_name, range) => {
    for (const value of samples(range)) {
      for (const host of notations4(value)) expect(verdict(host), host).toBe(false);
      expect(canonical(judgeUrl(`https://${value}/`, RULES).host)).toBe(dotted(value));
    }
  });

  it.each(Object.entries(SPECIAL_4))('of IPv4 is refused inside IPv6: %s, %s', (_name, range) => {
    for (const value of samples(range))
      for (const [carrier, carried] of Object.entries(carriers(value)))
        for (const host of notations6(carried)) expect(verdict(host), `${carrier} ${host}`).toBe(false);
  });

  it.each(Object.entries(SPECIAL_6))('of IPv6 is refused in all notations: %s, %s', (_name, range) => {
    // That ::/8 gives a mapped or translated address by chance would be one case in 2^80.
    for (const value of samples(range)) for (const host of notations6(value)) expect(verdict(host), host).toBe(false);
  });

  it('is refused as a resolver writes it, too', () => {
    for (const text of [
      '127.0.0.1',
      '::1',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      'fe80::1',
      'fe80::1%eth0',
      'FD00:EC2::254',
      '64:ff9b::7f00:1',
    ])
      expect(isPublic(text), text).toBe(false);
  });
});

describe('a public address', () => {
  const special4 = Object.values(SPECIAL_4).map(span);
  const special6 = Object.values(SPECIAL_6).map(span);
  const outside = (value: bigint, spans: readonly Span[]) => !spans.some(({ first, last }) => value >= first && value <= last);
  const draw = (range: string, spans: readonly Span[], count: number): bigint[] => {
    const { first, last } = span(range);
    return Array.from({ length: count }, () => first + below(last - first + 1n)).filter((value) => outside(value, spans));
  };
  const neighbours = (spans: readonly Span[], most: bigint) =>
    spans.flatMap(({ first, last }) => [first - 1n, last + 1n]).filter((value) => value > 0n && value < most && outside(value, spans));

  it('of IPv4 passes in all notations, and alone or behind NAT64', () => {
    const values = [...draw('0.0.0.0/0', special4, 300), ...neighbours(special4, 2n ** 32n), value4('8.8.8.8')];
    expect(values.length).toBeGreaterThan(250);
    for (const value of values) {
      for (const host of notations4(value)) expect(verdict(host), host).toBe(true);
      const { mapped = 0n, NAT64 = 0n, ...others } = carriers(value);
      for (const host of [...notations6(mapped), ...notations6(NAT64)]) expect(verdict(host), host).toBe(true);
      for (const carried of Object.values(others)) expect(verdict(`[${coloned(carried)}]`), coloned(carried)).toBe(false);
    }
  });

  it('of IPv6 passes in all notations', () => {
    const values = [...draw('2000::/3', special6, 300), value6('2606:4700:4700::1111')];
    const beside = neighbours(special6, 2n ** 128n).filter((value) => value >> 125n === 1n);
    expect(values.length).toBeGreaterThan(250);
    expect(beside.length).toBeGreaterThan(5);
    for (const value of [...values, ...beside]) for (const host of notations6(value)) expect(verdict(host), host).toBe(true);
  });

  it('has one form', () => {
    expect(canonical('::ffff:8.8.8.8')).toBe('8.8.8.8');
    expect(canonical('2606:4700:0:0::0:1111')).toBe('2606:4700::1111');
  });
});

describe('what is no address', () => {
  it.each([
    '',
    'localhost',
    '127.1',
    '0x7f.0.0.1',
    '010.0.0.1',
    '8.8.8.8 ',
    '8.8.8.8.',
    '8.8.8',
    '256.1.1.1',
    '2606:4700::1%eth0',
    '[2606:4700::1]',
    '1::2::3',
    '8.8.8.8/32',
  ])('%j is never public', (text) => {
    expect(isPublic(text)).toBe(false);
    expect(canonical(text)).toBeUndefined();
  });
});

describe("the operator's ranges", () => {
  const judge = addressJudge({ allow: ['10.1.0.0/16', 'fd00:1::/32', '2002::/16'], deny: ['8.8.0.0/16', '10.1.2.0/24', '2606:4700::/32'] });
  it.each([
    ['10.1.1.1', true],
    ['::ffff:10.1.1.1', true],
    ['10.2.1.1', false],
    ['10.1.2.3', false],
    ['fd00:1::5', true],
    ['fd00:2::5', false],
    ['2002:0a00:0001::', true],
    ['8.8.8.8', false],
    ['::ffff:8.8.8.8', false],
    ['64:ff9b::8.8.8.8', false],
    ['64:ff9b::10.1.1.1', false],
    ['64:ff9b::9.9.9.9', true],
    ['9.9.9.9', true],
    ['2606:4700::1', false],
    ['2607:4700::1', true],
  ])('open and close: %s is %s', (address, reached) => expect(judge(address)).toBe(reached));

  it.each(['10.0.0.0/8', '0.0.0.0/0', '10.1.2.3/32', 'fd00::/8', '::/0', '2001:db8::1/128'])('may be %s', (text) =>
    expect(isRange(text)).toBe(true),
  );

  it.each([
    '10.0.0.0',
    '10/8',
    '010.0.0.0/8',
    '10.0.0.0/33',
    '0x0a.0.0.0/8',
    'fd00::/129',
    'fe80::%eth0/64',
    '::ffff:10.0.0.0/104',
    'localhost/8',
    '/8',
    '',
  ])('may not be %j, and the settings say so', (text) => {
    expect(isRange(text)).toBe(false);
    expect(() => addressJudge({ allow: [], deny: [text] })).toThrow(RangeError);
    expect(fetchSettings.safeParse({ deny: [text] }).success).toBe(false);
  });
});

describe('a URL', () => {
  it.each([
    ['https://example.com/a', 'https://example.com/a'],
    ['https://example.com:443/a?b#c', 'https://example.com/a?b#c'],
    ['https://example.com:80/', 'https://example.com:80/'],
    ['https://EXAMPLE.com./a', 'https://example.com/a'],
    ['https:\\\\example.com\\a', 'https://example.com/a'],
    ['https://b\u00fccher.example/', 'https://xn--bcher-kva.example/'],
    ['https://ex\tam\nple.com/', 'https://example.com/'],
    ['https://@example.com/', 'https://example.com/'],
  ])('%j is fetched as %s', (url, href) => expect(refusalOf(url)).toBe(href));

  it.each([
    ['scheme', 'http://example.com/'],
    ['scheme', 'file:///etc/passwd'],
    ['scheme', 'ftp://example.com/'],
    ['scheme', 'gopher://example.com/'],
    ['scheme', 'dict://example.com:11211/'],
    ['scheme', 'data:text/html,hello'],
    ['scheme', 'jar:https://example.com/a.jar!/b'],
    ['scheme', 'blob:https://example.com/0'],
    ['scheme', 'javascript:alert(1)'],
    ['scheme', 'unix:///var/run/docker.sock'],
    ['scheme', 'example.com/file'],
    ['scheme', '//example.com/file'],
    ['scheme', ''],
    ['credentials', 'https://user@example.com/'],
    ['credentials', 'https://:secret@example.com/'],
    ['credentials', 'https://public.example@127.0.0.1/'],
    ['credentials', 'https://public.example%23@127.0.0.1/'],
    ['port', 'https://example.com:22/'],
    ['port', 'https://example.com:8443/'],
    ['port', 'https://example.com:0/'],
    ['address', 'https://example.com:65536/'],
    ['address', 'https://'],
    ['address', 'https://./'],
    ['address', 'https://example.com../'],
    ['address', 'https://.example.com/'],
    ['address', 'https://a..b/'],
    ['address', 'https://exa mple.com/'],
    ['address', 'https://[fe80::1%25eth0]/'],
    ['address', 'https://[fe80::1%eth0]/'],
    ['address', 'https://1.2.3.4.5/'],
    ['address', 'https://256.0.0.1/'],
    ['address', 'https://0x100000000/'],
    ['address', 'https://[::1/'],
    ['address', `https://example.com/${'a'.repeat(8192)}`],
  ])('is refused for its %s: %j', (reason, url) => expect(refusalOf(url)).toBe(reason));

  it('may be http where the operator says so', () => {
    expect(refusalOf('http://example.com/', { http: true, ports: [80] })).toBe('http://example.com/');
    expect(refusalOf('https://example.com/', { http: true, ports: [80] })).toBe('port');
    expect(refusalOf('ftp://example.com/', { http: true, ports: [80] })).toBe('scheme');
  });

  it.each([
    ['/b?c', 'https://example.com/b?c'],
    ['//other.example/b', 'https://other.example/b'],
    ['', 'https://example.com/a/'],
    ['file:///etc/passwd', 'scheme'],
    ['https://u@other.example/', 'credentials'],
    ['//127.1:8080/', 'port'],
    ['https://[', 'address'],
  ])('of a redirect is judged from where it stands: %j', (reference, outcome) =>
    expect(refusalOf(reference, RULES, new URL('https://example.com/a/'))).toBe(outcome),
  );
});

describe("a fetched file's name", () => {
  it.each([
    ['from the path', undefined, '/a/b%20c.pdf', 'b c.pdf'],
    ['from the path as it is where it is no UTF-8', undefined, '/a%ff.pdf', 'a%ff.pdf'],
    ['from the path, separators and all', undefined, '/a%2Fb.pdf', 'a/b.pdf'],
    ['from nowhere', undefined, '/a/', ''],
    ['as the header says', 'attachment; filename="my \\"file\\".pdf"', '/x', 'my "file".pdf'],
    ['as a token', 'attachment;filename=file.pdf; size=3', '/x', 'file.pdf'],
    ['in UTF-8 by RFC 8187 first', 'attachment; filename="plain.pdf"; filename*=UTF-8\'\'na%C3%AFve.pdf', '/x', 'na\u00efve.pdf'],
    ['in ISO 8859-1 by RFC 8187', "attachment; filename*=iso-8859-1'en'%A3.pdf", '/x', '\u00a3.pdf'],
    ['in bare UTF-8', `attachment; filename="${Buffer.from('\u00e9.pdf').toString('latin1')}"`, '/x', '\u00e9.pdf'],
    ['in bare ISO 8859-1', 'attachment; filename="\u00e9.pdf"', '/x', '\u00e9.pdf'],
    ['from the path where the header has none', 'inline', '/x.pdf', 'x.pdf'],
    ['from the path where the header has an empty one', 'attachment; filename=""', '/x.pdf', 'x.pdf'],
  ])('comes %s', (_where, disposition, path, name) => expect(sentName(disposition, new URL(`https://example.com${path}`))).toBe(name));

  it('is found in no time in a header made to be slow', () => {
    expect(sentName(`attachment; filename="${'\\a'.repeat(8000)}`, new URL('https://example.com/x.pdf'))).toBe('x.pdf');
    expect(sentName(`attachment${'; filename'.repeat(1600)}`, new URL('https://example.com/x.pdf'))).toBe('x.pdf');
  });
});
