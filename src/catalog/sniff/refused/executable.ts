/** Recognises executables, so that the refusal names them and nothing opens them. */
import { has, latin1, u8, u32le } from '../../looks/bytes.ts';
import type { Detected, Sample } from '../../looks/sample.ts';
import { asRefused } from '../verdict.ts';

const SIGNATURES: readonly (readonly [string, string])[] = [
  ['\x7fELF', 'ELF executable'],
  ['\xfe\xed\xfa\xce', 'Mach-O executable'],
  ['\xfe\xed\xfa\xcf', 'Mach-O executable'],
  ['\xce\xfa\xed\xfe', 'Mach-O executable'],
  ['\xcf\xfa\xed\xfe', 'Mach-O executable'],
  // Also a Mach-O file for several processors.
  ['\xca\xfe\xba\xbe', 'Java class'],
  ['\0asm', 'WebAssembly module'],
  ['dex\n0', 'Android program'],
  ['BC\xc0\xde', 'LLVM bitcode'],
  ['L\0\0\0\x01\x14\x02\0', 'Windows shortcut'],
];

export function executable({ head }: Sample): Detected | undefined {
  const found = SIGNATURES.find(([signature]) => has(head, 0, signature));
  if (found !== undefined) return asRefused(found[1]);
  return isDos(head) ? asRefused('Windows executable') : undefined;
}

/** Text may begin with "MZ" too: a program has a PE header at the offset in its DOS header, or bytes that text cannot have. */
function isDos(head: Uint8Array): boolean {
  if (!has(head, 0, 'MZ') && !has(head, 0, 'ZM')) return false;
  return has(head, u32le(head, 0x3c), 'PE\0\0') || /[\0-\x08]/.test(latin1(head, 2, 62)) || Number.isNaN(u8(head, 2));
}
