const scratch = new DataView(new ArrayBuffer(4));

/** The bits of the nearest 16-bit float. Numbers too small for a normal one become zero, numbers too large infinity. */
export function halfBits(value: number): number {
  scratch.setFloat32(0, value);
  const bits = scratch.getUint32(0);
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 0xff) - 127 + 15;
  const mantissa = bits & 0x7fffff;
  if (exponent <= 0) return sign;
  if (exponent >= 31) return sign | 0x7c00;
  // A round-up that overflows the mantissa carries into the exponent, which is what it should do.
  return (sign | (exponent << 10) | (mantissa >>> 13)) + ((mantissa >>> 12) & 1);
}
