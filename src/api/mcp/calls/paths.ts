/** Paths of the caller's machine where a file is expected, and the advice that follows: upload it. */
import { formatByExtension } from '../../../catalog/formats.ts';
import { visible } from './quote.ts';

/** Longer than any path (Linux, PATH_MAX), characters. */
const LONGEST_PATH = 4_096;
/** A name alone. */
const LONGEST_NAME = 200;

/** Folders that a path without an extension begins with. Base64 of a JPEG begins with a slash, too. */
const ROOTS = /^\/(home|Users|tmp|mnt|var|root|etc|data|media|opt|private|srv|usr|workspace|workspaces|app|content)\//;

/** @returns the path as its machine writes it; undefined where the text is none */
export function pathIn(text: string): string | undefined {
  if (text.length > LONGEST_PATH || /[\n\r]/.test(text)) return undefined;
  const url = /^(?:file|sandbox):\/{0,2}(\/.*)$/i.exec(text)?.[1];
  if (url !== undefined) return unescaped(url);
  // A drive (C:\, C:/), a share (\\host), home, this folder and its parent.
  if (/^(?:[a-z]:[\\/]|\\\\[^\\]|~[\\/]|\.{1,2}[\\/])/i.test(text)) return text;
  if (ROOTS.test(text) || /^\/[^?#]*\.[a-z0-9]{1,5}$/i.test(text)) return text;
  const extension = text.length > LONGEST_NAME ? undefined : /^[^/\\:*?"<>|]+\.([a-z0-9]{1,5})$/i.exec(text)?.[1];
  return extension !== undefined && formatByExtension(extension.toLowerCase()) !== undefined ? text : undefined;
}

function unescaped(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** @param path as its machine writes it */
export function uploadAdvice(base: string, path = 'PATH'): string {
  return `upload it with  ${curl(base, visible(path).slice(0, 300))}  and give the upload_id of the answer as the file.`;
}

/** Quoted for the shell of the machine. */
function curl(base: string, path: string): string {
  const windows = /^(?:[a-z]:[\\/]|\\\\)/i.test(path);
  const quote = windows ? `"file=@${path.replaceAll('"', '')}"` : `'file=@${path.replaceAll("'", "'\\''")}'`;
  return `curl -F ${path === 'PATH' ? 'file=@PATH' : quote} ${base}/api/v1/uploads`;
}
