/** Numbers from 0 to 1 as samples of 16 bits, and linear light as sRGB shows it (IEC 61966-2-1). */

/** What is beyond black and white is black and white. @returns 0 to 65,535 */
export const level = (value: number): number => Math.round(Math.max(0, Math.min(1, value || 0)) * 65_535);

/** @param value linear @returns 0 to 65,535 */
export const encoded = (value: number): number => level(value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055);

/** @param sample 0 to 65,535 @returns linear */
export function light(sample: number): number {
  const value = sample / 65_535;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

/** IEEE 754, binary16. */
export function ofHalf(bits: number): number {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 0x3ff];
  const size =
    exponent === 0
      ? fraction * 2 ** -24
      : exponent === 31
        ? fraction === 0
          ? Infinity
          : NaN
        : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return (bits & 0x8000) === 0 ? size : -size;
}
