/** What the header of a picture says, whatever its format. */
import type { Facts } from '../../engine.ts';

export interface PictureHeader {
  /** Pixels, as the picture is shown: turned as its EXIF or container says. */
  readonly width: number;
  readonly height: number;
  /** How it lies in the file, 1 to 8 (CIPA DC-008, 4.6.5.1.6); 1 where nothing turns it. */
  readonly orientation: number;
  /** Bits a channel. */
  readonly depth: number;
  readonly colours: 'grey' | 'rgb' | 'cmyk' | 'palette';
  /** Whether it has a channel, or a colour, that can be transparent. */
  readonly alpha: boolean;
  /** 1 for a still. */
  readonly frames: number;
  /** How often an animation runs, 0 for ever. */
  readonly loops?: number;
  /** How long an animation runs once, ms. */
  readonly durationMs?: number;
  /** Pixels an inch, where the file states it. */
  readonly density?: number;
  /** The power by which light became samples, where that is all the file says of its colours, and it is not that of sRGB. */
  readonly gamma?: number;
  /** It has an ICC profile. */
  readonly profile: boolean;
  readonly exif: boolean;
  readonly xmp: boolean;
  readonly iptc: boolean;
  /** It has a second picture that says how much brighter each place is on a display of high dynamic range. */
  readonly gainMap: boolean;
}

/** What a reader begins with, and adds to. */
export const BARE: Omit<PictureHeader, 'width' | 'height'> = {
  orientation: 1,
  depth: 8,
  colours: 'rgb',
  alpha: false,
  frames: 1,
  profile: false,
  exif: false,
  xmp: false,
  iptc: false,
  gainMap: false,
};

/** The sides as they are shown, of a picture that may be stored lying on its side. */
export const asShown = (width: number, height: number, orientation: number): Pick<PictureHeader, 'width' | 'height' | 'orientation'> =>
  orientation >= 5 ? { width: height, height: width, orientation } : { width, height, orientation };

/** Pixels an inch, of pixels a metre. */
export const perInch = (perMetre: number): number => Math.round(perMetre * 0.0254);

/** As the judge has found it. */
export const pictureOf = (facts: Facts): PictureHeader | undefined => facts['picture'] as PictureHeader | undefined;
