/* Made by tools/vmath_coefficients.py; lowest power first. */
#define BL_MILLS_SCALE 5.0
#define BL_TAIL_SCALE 4.0
#define BL_TAIL_SLOPE 1.4734259914389862
#define BL_TAIL_SHIFT -0.1967262747368292
static const double bl_mills_poly[24] = {
    0x1.28273b50efa76p+0,
    -0x1.d5fd8ffd0f1aap-3,
    0x1.3e97eaf5f2f87p-4,
    0x1.9ac85788f58b1p-6,
    -0x1.0f103e712ef39p-4,
    0x1.f7d96e0d85ca6p-5,
    -0x1.37838b3a20ea3p-5,
    0x1.0bd973acc40a7p-6,
    -0x1.1355f4909ab39p-8,
    0x1.47ab73fc90055p-16,
    0x1.df3ecb4614c01p-12,
    -0x1.19cda437ebfdcp-13,
    -0x1.a02c43d08b1aap-16,
    0x1.7d010b3c70d15p-16,
    -0x1.7aabc20eeba8dp-23,
    -0x1.b7debee1da49ep-19,
    0x1.582e3c1549ea5p-22,
    0x1.082372888b676p-21,
    -0x1.1afe8a6a10e00p-24,
    -0x1.4d39d50792f0ep-24,
    0x1.386a441084818p-27,
    0x1.7b0f1fc3805e3p-27,
    -0x1.84e4459756919p-31,
    -0x1.06ea87375c5b4p-30};
static const double bl_tail_poly[8] = {
    0x1.0256ec5cbfd2ep-1,
    -0x1.d04c1c1026ef2p-2,
    0x1.e049d30326267p-4,
    -0x1.f0df6c683c818p-5,
    0x1.2de6072a54409p-6,
    -0x1.218d629173c92p-7,
    0x1.f9dc149b64f6dp-8,
    -0x1.aa3ea289d34fep-8};
/* log m in 2 sqrt(2) m - 3, for sqrt(1/2) <= m <= sqrt(2), to 1e-7 */
static const double bl_rough_log_poly[8] = {
    0x1.e270d95ac024ap-5,
    0x1.5555448924b99p-2,
    -0x1.c728984c82c3ap-5,
    0x1.94a6a8e665524p-7,
    -0x1.90d39f7780306p-9,
    0x1.a972dfc154e4fp-11,
    -0x1.1d4fef5d43594p-12,
    0x1.4fab767a72082p-14};
