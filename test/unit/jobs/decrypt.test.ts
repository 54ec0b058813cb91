import { describe, expect, it } from 'vitest';
import { encryptionWith, saltOf } from '../../../src/jobs/encryption.ts';

const [first, next] = ['the first key', 'the next key'];

describe('a password', () => {
  it('that was encrypted with any of the keys is decrypted', () => {
    const both = encryptionWith([next, first], 'salt');
    for (const key of [first, next]) expect(both.decrypt(encryptionWith([key], 'salt').encrypt('kestrel', 'job'), 'job')).toBe('kestrel');
  });
  it('is encrypted with the first', () => {
    const text = encryptionWith([next, first], 'salt').encrypt('kestrel', 'job');
    expect(encryptionWith([next], 'salt').decrypt(text, 'job')).toBe('kestrel');
    expect(() => encryptionWith([first], 'salt').decrypt(text, 'job')).toThrow();
  });
  it('is decrypted for nothing but what it was bound to', () =>
    expect(() => encryptionWith([first], 'salt').decrypt(encryptionWith([first], 'salt').encrypt('kestrel', 'job'), 'another')).toThrow());
});

describe('a hash', () => {
  it('is the same whatever the keys are, while the salt is', () =>
    expect(encryptionWith([next, first], 'salt').hmac('a client')).toBe(encryptionWith([next], 'salt').hmac('a client')));
  it('is salted with the last key, unless something else was chosen', () => {
    expect(saltOf([next, first])).toBe(first);
    expect(saltOf([next, first], 'salt')).toBe('salt');
  });
});
