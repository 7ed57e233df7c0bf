import numpy as np,time
for mb in (0.5,4,16,64,400):
    a=np.ones(int(mb*2**20/8)); a.sum(); k=max(1,int(800/mb)); s=time.perf_counter()
    for _ in range(k): a.max()
    print(mb,"MB",a.nbytes*k/(time.perf_counter()-s)/1e9,"GB/s")
