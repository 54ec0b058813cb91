import { describe, expect, it } from 'vitest';
import { saltOf, sealWith } from '../../src/jobs/seal.ts';

const [first, next] = ['the first key', 'the next key'];

describe('a password', () => {
  it('that was encrypted with any of the keys is decrypted', () => {
    const both = sealWith([next, first], 'salt');
    for (const key of [first, next]) expect(both.open(sealWith([key], 'salt').close('kestrel', 'job'), 'job')).toBe('kestrel');
  });
  it('is encrypted with the first', () => {
    const text = sealWith([next, first], 'salt').close('kestrel', 'job');
    expect(sealWith([next], 'salt').open(text, 'job')).toBe('kestrel');
    expect(() => sealWith([first], 'salt').open(text, 'job')).toThrow();
  });
  it('is decrypted for nothing but what it was bound to', () =>
    expect(() => sealWith([first], 'salt').open(sealWith([first], 'salt').close('kestrel', 'job'), 'another')).toThrow());
});

describe('a hash', () => {
  it('is the same whatever the keys are, while the salt is', () =>
    expect(sealWith([next, first], 'salt').mark('a client')).toBe(sealWith([next], 'salt').mark('a client')));
  it('is salted with the last key, unless something else was chosen', () => {
    expect(saltOf([next, first])).toBe(first);
    expect(saltOf([next, first], 'salt')).toBe('salt');
  });
});
