/** Weights of models as they are stored. */

/** 16 bits: sign, 5 of the exponent, 10 of the fraction; small normal numbers only. */
export function float16(value: number): number {
  const [bits = 0] = new Uint32Array(Float32Array.of(value).buffer);
  const exponent = ((bits >>> 23) & 0xff) - 112;
  return exponent <= 0 ? 0 : ((bits >>> 16) & 0x8000) | (exponent << 10) | ((bits >>> 13) & 0x3ff);
}
