/** Small pictures of chosen files: of a picture, of the first page of a PDF, of a film a little behind its beginning. Fetched when files are chosen. */
import type { Pages, Refused } from './pdf.ts';

export interface Thumbnail {
  readonly canvas: HTMLCanvasElement;
  /** How many a PDF has. */
  readonly pages?: number;
}

type OpenPdf = (file: File) => Promise<Pages | Refused>;

/** A film may never say that it is there, ms. */
const PATIENCE = 5_000;
/** Where films have a picture, as a rule, seconds. */
const BEHIND_START = 0.5;

/** @param side of the square that it fits into, px @param open asked where it is a PDF @returns undefined where this browser cannot show the file @throws where it cannot read it */
export async function thumbnailOf(file: File, side: number, open: OpenPdf): Promise<Thumbnail | undefined> {
  if (file.type === 'application/pdf' || /\.pdf$/i.test(file.name)) return pageOf(file, side, open);
  if (file.type.startsWith('video/')) return { canvas: await frameOf(file, side) };
  if (!file.type.startsWith('image/')) return undefined;
  const bitmap = await createImageBitmap(file);
  try {
    return { canvas: fitted(bitmap, bitmap.width, bitmap.height, side) };
  } finally {
    bitmap.close();
  }
}

async function pageOf(file: File, side: number, open: OpenPdf): Promise<Thumbnail | undefined> {
  const pdf = await open(file);
  if (typeof pdf === 'string') return undefined;
  try {
    const canvas = await pdf.draw(1, side, () => true);
    return canvas === undefined ? undefined : { canvas, pages: pdf.count };
  } finally {
    pdf.close();
  }
}

async function frameOf(file: File, side: number): Promise<HTMLCanvasElement> {
  const video = document.createElement('video');
  const url = URL.createObjectURL(file);
  try {
    video.muted = true;
    video.preload = 'auto';
    const ready = new Promise((resolve, reject) => {
      video.onseeked = resolve;
      video.onerror = reject;
      setTimeout(reject, PATIENCE);
      video.onloadedmetadata = () => {
        video.currentTime = Math.min(BEHIND_START, video.duration / 2 || 0);
      };
    });
    video.src = url;
    await ready;
    return fitted(video, video.videoWidth, video.videoHeight, side);
  } finally {
    video.removeAttribute('src');
    video.load();
    URL.revokeObjectURL(url);
  }
}

function fitted(picture: CanvasImageSource, width: number, height: number, side: number): HTMLCanvasElement {
  const scale = side / Math.max(width, height, 1);
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas;
}
