/** The standard close codes that the server sends by itself (RFC 6455, section 7.4.1, and the registry of IANA). */
export const CLOSE = {
  policy: 1008,
  tooLarge: 1009,
  noPong: 1011,
  overloaded: 1013,
} as const;
