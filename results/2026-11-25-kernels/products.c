#include <stdio.h>
#include <time.h>
static double cpu(){struct timespec t;clock_gettime(CLOCK_MONOTONIC,&t);return t.tv_sec+1e-9*t.tv_nsec;}
static int mem[64];
#define R(i) "vpdpbusd %%zmm30,%%zmm31,%%zmm" #i "\n"
#define M(i) "vpdpbusd " #i "*4(%0)%{1to16%},%%zmm31,%%zmm" #i "\n"
int main(){double br=1e9,bm=1e9;for(int k=0;k<300;k++){double t=cpu();for(int i=0;i<20000;i++)__asm__ volatile(R(0)R(1)R(2)R(3)R(4)R(5)R(6)R(7)R(8)R(9)R(10)R(11)R(12)R(13)R(14)R(15)::"r"(mem):"memory");t=cpu()-t;if(t<br)br=t;
t=cpu();for(int i=0;i<20000;i++)__asm__ volatile(M(0)M(1)M(2)M(3)M(4)M(5)M(6)M(7)M(8)M(9)M(10)M(11)M(12)M(13)M(14)M(15)::"r"(mem):"memory");t=cpu()-t;if(t<bm)bm=t;}
printf("registers %.2f G/s = %.0f GMAC/s; broadcast from memory %.2f G/s = %.0f GMAC/s\n",320000/br/1e9,320000*64/br/1e9,320000/bm/1e9,320000*64/bm/1e9);}
