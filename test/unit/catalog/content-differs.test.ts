/** A client is told where the name or the declared type of a file says something else than its content, and only there. */
import { describe, expect, it } from 'vitest';
import { differing } from '../../../src/catalog/sniff/differs.ts';

describe('a name that contradicts the content', () => {
  it.each<readonly [format: string, filename: string, declared: string | undefined, says: string | undefined]>([
    ['png', 'a.png', 'image/png', undefined],
    ['png', 'a.jpg', undefined, 'The file was read as png, based on its content; its name says jpg.'],
    ['png', 'a.JPEG', 'image/png', 'The file was read as png, based on its content; its name says jpg.'],
    ['txt', 'label:@/etc/passwd.png', undefined, 'The file was read as txt, based on its content; its name says png.'],
    ['html', 'page', 'image/png', 'The file was read as html, based on its content; its content type says png.'],
    ['html', 'a.png', 'image/gif', 'The file was read as html, based on its content; its name says png and its content type says gif.'],
    ['html', 'a.html', 'text/html; charset=utf-8', undefined],
    ['png', 'a', undefined, undefined],
    ['png', 'a.unknown', 'application/octet-stream', undefined],
    ['png', 'a.tar.gz', 'text/plain', 'The file was read as png, based on its content; its name says tgz.'],
    ['png', 'a.part.1', 'text/plain', undefined],
    // Formats of one group, among which the name decides.
    ['md', 'a.txt', 'text/html', undefined],
    ['opus', 'a.ogg', 'audio/ogg', undefined],
    ['mp4', 'a.mov', 'video/quicktime', undefined],
    ['pgm', 'a.pnm', undefined, undefined],
    ['docx', 'a.docm', undefined, undefined],
    ['xlsx', 'a.docx', undefined, 'The file was read as xlsx, based on its content; its name says docx.'],
  ])('%s in %s sent as %s', (format, filename, declared, says) => {
    expect(differing(format, filename, declared)).toEqual(says === undefined ? [] : [{ code: 'content_differs', message: says }]);
  });
});
