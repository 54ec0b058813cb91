/** Files that are recognised and not converted, so that the answer names them: no free program reads them well, or what they hold is no document. */
import type { Signature } from '../../formats/format.ts';
import { has } from '../../looks/bytes.ts';
import type { Detected, Sample } from '../../looks/sample.ts';
import { asRefused } from '../verdict.ts';

/** How they begin, or bytes at their offsets. */
const SIGNATURES: readonly (readonly [Signature, string])[] = [
  ['AC10', 'AutoCAD drawing (DWG)'],
  ['(DWF V', 'AutoCAD drawing (DWF)'],
  ['ITSF', 'compiled help (CHM)'],
  ['\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d\xae\xb1\x53\x78\xd0\x29\x96\xd3', 'OneNote section'],
  ['HWP Document File', 'Hangul document (HWP)'],
  ['\x31\xbe\0\0', 'Windows Write document'],
  ['\x32\xbe\0\0', 'Windows Write document'],
  ['\x06\x06\xed\xf5\xd8\x1d\x46\xe5', 'InDesign document'],
  ['BLENDER', 'Blender scene'],
  ['IMPM', 'tracker music (IT)'],
  [[[44, 'SCRM']], 'tracker music (S3M)'],
  [[[4, 'Standard Jet DB']], 'Access database'],
  [[[4, 'Standard ACE DB']], 'Access database'],
  ['!BDN', 'Outlook data file (PST)'],
  ['\x60\xea', 'ARJ archive'],
  [[[7, '**ACE**']], 'ACE archive'],
  ['\x1f\x9d', 'compressed file (compress)'],
  ['StuffIt', 'StuffIt archive'],
  ['SIT!', 'StuffIt archive'],
  ['xar!', 'XAR archive'],
  ['MSWIM\0\0\0', 'disk image (WIM)'],
  ['KDMV', 'disk image (VMDK)'],
  ['QFI\xfb', 'disk image (QCOW)'],
  ['vhdxfile', 'disk image (VHDX)'],
  ['conectix', 'disk image (VHD)'],
  ['\xd4\xc3\xb2\xa1', 'network capture (PCAP)'],
  ['d8:announce', 'torrent'],
];

export function recognised(sample: Sample): Detected | undefined {
  const { head, tail } = sample;
  const found = SIGNATURES.find(([signature]) => partsOf(signature).every(([at, bytes]) => has(head, at, bytes)));
  if (found !== undefined) return asRefused(found[1]);
  // The trailer of an image that macOS writes.
  return has(tail, tail.length - 512, 'koly\0\0\0\x04') ? asRefused('disk image (DMG)') : undefined;
}

const partsOf = (signature: Signature) => (typeof signature === 'string' ? ([[0, signature]] as const) : signature);
