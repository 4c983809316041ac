/* sine_poly.h - made by tools/make_sine.py: (sin(w)/w-1)/w^2 in y = w^2 <= 1.26^2;
 * error relative to sin 1.9e-17. */
static const double bl_sine_poly[9] = {
    -0x1.5555555555555p-3, 0x1.1111111111111p-7, -0x1.a01a01a01a019p-13,
    0x1.71de3a556c63dp-19, -0x1.ae64567f3b4c2p-26, 0x1.61246123c339cp-33,
    -0x1.ae7f26196aa7fp-41, 0x1.951d4670e2fc3p-49, -0x1.2a2bd6c8c2fbap-57};
